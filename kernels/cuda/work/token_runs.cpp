// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/work/token_runs.h"

#include <algorithm>

#include "kernels/plan/key_runs.h"

namespace attnscope::cuda {

WorkRun run_of(const TokenRun& run) {
  return {static_cast<std::int32_t>(run.begin), static_cast<std::int32_t>(run.size()),
          run.listed ? 1 : 0};
}

std::int32_t token_at(const WorkRun& run, std::int32_t position, Indices indices) {
  const std::int32_t at = run.begin + position;
  return run.listed != 0 ? indices[static_cast<std::size_t>(at)] : at;
}

TokenRange hull_of(const WorkRun& run, Indices indices) {
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

void append_intervals(const WorkRun& run, Indices indices, std::vector<TokenRange>& intervals) {
  for (std::int32_t i = 0; i < run.count;) {
    const std::int64_t begin = token_at(run, i, indices);
    std::int64_t end = run.listed != 0 ? begin + 1 : begin + run.count;
    i += static_cast<std::int32_t>(end - begin);
    for (; i < run.count && token_at(run, i, indices) == end; ++i) ++end;
    intervals.push_back({begin, end});
  }
}

WorkRun as_run(std::span<const TokenRange> intervals, std::vector<std::int32_t>& indices) {
  if (intervals.empty()) return {};
  if (intervals.size() == 1) return run_of({intervals[0].begin, intervals[0].end});
  const auto begin = static_cast<std::int32_t>(indices.size());
  for (const TokenRange& interval : intervals) {
    for (std::int64_t token = interval.begin; token < interval.end; ++token)
      indices.push_back(static_cast<std::int32_t>(token));
  }
  return {begin, static_cast<std::int32_t>(indices.size()) - begin, 1};
}

std::vector<WorkRun> runs_of(std::vector<TokenRange> tokens, std::vector<std::int32_t>& indices) {
  constexpr std::int64_t long_interval = 512;  // enough to fill units alone
  merge_intervals(tokens);
  const auto first_short = std::stable_partition(
      tokens.begin(), tokens.end(),
      [](const TokenRange& interval) { return interval.size() >= long_interval; });
  std::vector<WorkRun> runs;
  for (auto interval = tokens.begin(); interval != first_short; ++interval)
    runs.push_back(run_of({interval->begin, interval->end}));
  if (first_short != tokens.end()) runs.push_back(as_run({first_short, tokens.end()}, indices));
  return runs;
}

}  // namespace attnscope::cuda
