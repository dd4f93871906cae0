// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/work/token_runs.h"

#include <algorithm>

namespace attnscope::cuda {
namespace {

/// From here on an interval fills tiles by itself.
constexpr std::int32_t long_interval = 512;
/// A gap that costs a windowed tile as much as another tile would.
constexpr std::int32_t wide_gap = 64;

/// Intervals gathered for one listed run.
class Gathered {
 public:
  Gathered(std::vector<std::int32_t>& indices, std::vector<WorkRun>& runs)
      : indices_(indices), runs_(runs) {}

  void add(const TokenInterval& interval) { intervals_.push_back(interval); }
  [[nodiscard]] bool reaches(std::int32_t token) const {
    return intervals_.empty() || token - intervals_.back().end <= wide_gap;
  }
  void flush() {
    if (intervals_.size() == 1) {
      runs_.push_back({intervals_[0].begin, intervals_[0].size(), 0});
    } else if (!intervals_.empty()) {
      const auto begin = static_cast<std::int32_t>(indices_.size());
      for (const TokenInterval& interval : intervals_) {
        for (std::int32_t t = interval.begin; t < interval.end; ++t) indices_.push_back(t);
      }
      runs_.push_back({begin, static_cast<std::int32_t>(indices_.size()) - begin, 1});
    }
    intervals_.clear();
  }

 private:
  std::vector<std::int32_t>& indices_;
  std::vector<WorkRun>& runs_;
  std::vector<TokenInterval> intervals_;
};

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

WorkRun within(const WorkRun& run, const TokenInterval& tokens, Indices indices) {
  if (tokens.empty()) return part_of(run, 0, 0);
  const std::int32_t first = position_of(run, tokens.begin, indices);
  return part_of(run, first, position_of(run, tokens.end, indices) - first);
}

std::vector<WorkRun> runs_of(std::span<const TokenInterval> tokens, bool windowed,
                             std::vector<std::int32_t>& indices) {
  std::vector<WorkRun> runs;
  Gathered gathered(indices, runs);
  for (const TokenInterval& interval : joined(tokens)) {
    if (interval.size() >= long_interval) {
      runs.push_back({interval.begin, interval.size(), 0});
      continue;
    }
    if (windowed && !gathered.reaches(interval.begin)) gathered.flush();
    gathered.add(interval);
  }
  gathered.flush();
  return runs;
}

}  // namespace attnscope::cuda
