// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/work/token_runs.h"

#include <algorithm>

namespace attnscope::cuda {
namespace {

/// From here on an interval fills units by itself.
constexpr std::int32_t long_interval = 512;

std::vector<TokenInterval> joined(std::span<const TokenInterval> tokens) {
  std::vector<TokenInterval> intervals;
  for (const TokenInterval& interval : tokens) {
    if (interval.empty()) continue;
    if (!intervals.empty() && intervals.back().end == interval.begin) {
      intervals.back().end = interval.end;
    } else {
      intervals.push_back(interval);
    }
  }
  return intervals;
}

}  // namespace

WorkRun run_of(const TokenRun& run) {
  return {static_cast<std::int32_t>(run.begin), static_cast<std::int32_t>(run.size()),
          run.listed ? 1 : 0};
}

std::int32_t token_at(const WorkRun& run, std::int32_t position, Indices indices) {
  const std::int32_t at = run.begin + position;
  return run.listed != 0 ? indices[static_cast<std::size_t>(at)] : at;
}

TokenInterval hull_of(const WorkRun& run, Indices indices) {
  if (run.count <= 0) return {};
  return {token_at(run, 0, indices), token_at(run, run.count - 1, indices) + 1};
}

WorkRun part_of(const WorkRun& run, std::int32_t first, std::int32_t count) {
  return {run.begin + first, count, run.listed};
}

std::int32_t position_of(const WorkRun& run, std::int32_t token, Indices indices) {
  if (run.listed == 0) return std::clamp(token - run.begin, 0, run.count);
  const auto listed =
      indices.subspan(static_cast<std::size_t>(run.begin), static_cast<std::size_t>(run.count));
  return static_cast<std::int32_t>(std::ranges::lower_bound(listed, token) - listed.begin());
}

std::vector<WorkRun> runs_of(std::span<const TokenInterval> tokens,
                             std::vector<std::int32_t>& indices) {
  std::vector<WorkRun> runs;
  std::vector<TokenInterval> gathered;
  for (const TokenInterval& interval : joined(tokens)) {
    if (interval.size() < long_interval) {
      gathered.push_back(interval);
    } else {
      runs.push_back({interval.begin, interval.size(), 0});
    }
  }
  if (gathered.size() == 1) runs.push_back({gathered[0].begin, gathered[0].size(), 0});
  if (gathered.size() < 2) return runs;
  const auto begin = static_cast<std::int32_t>(indices.size());
  for (const TokenInterval& interval : gathered) {
    for (std::int32_t t = interval.begin; t < interval.end; ++t) indices.push_back(t);
  }
  runs.push_back({begin, static_cast<std::int32_t>(indices.size()) - begin, 1});
  return runs;
}

}  // namespace attnscope::cuda
