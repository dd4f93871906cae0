// SPDX-License-Identifier: Apache-2.0
#include "kernels/plan/key_runs.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace attnscope {
namespace {

/// The block of `segment.window` tokens of `hull` that contains `token`, a token of `hull`.
TokenRange block_of(TokenRange hull, const Segment& segment, std::int64_t token) {
  assert(segment.window > 0);
  const std::int64_t begin = hull.begin + (token - hull.begin) / segment.window * segment.window;
  return {begin, hull.end - begin > segment.window ? begin + segment.window : hull.end};
}

/// Windows larger than any token number mean "all"; the cap prevents overflow of sums.
std::int64_t capped_window(const Segment& segment) {
  return std::min(segment.window, std::numeric_limits<std::int64_t>::max() / 4);
}

}  // namespace

TokenRange intersect(TokenRange a, TokenRange b) {
  const std::int64_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

std::span<const std::int64_t> within(std::span<const std::int64_t> tokens, TokenRange range) {
  if (range.empty()) return {};
  const auto first = std::lower_bound(tokens.begin(), tokens.end(), range.begin);
  return {first, std::lower_bound(first, tokens.end(), range.end)};
}

std::span<const std::int64_t> listed_tokens(const AttentionPlan& plan, const TokenRun& run) {
  assert(run.listed);
  return std::span(plan.indices)
      .subspan(static_cast<std::size_t>(run.begin), static_cast<std::size_t>(run.size()));
}

TokenRange hull_of(const AttentionPlan& plan, const TokenRun& run) {
  if (!run.listed || run.size() == 0) return {run.begin, run.end};
  const auto tokens = listed_tokens(plan, run);
  return {tokens.front(), tokens.back() + 1};
}

TokenRange window_within(TokenRange hull, const Segment& segment, std::int64_t query) {
  const std::int64_t opposite = query + segment.offset;
  switch (segment.kind) {
    case SegmentKind::whole:
      return hull;
    case SegmentKind::band: {
      const std::int64_t w = capped_window(segment);
      return intersect(hull, {opposite - w, opposite + w + 1});
    }
    case SegmentKind::block:
      if (opposite < hull.begin || opposite >= hull.end) return {hull.begin, hull.begin};
      return block_of(hull, segment, opposite);
  }
  return {hull.begin, hull.begin};
}

TokenRange rows_seeing(TokenRange hull, const Segment& segment, std::int64_t key) {
  constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max() / 2;
  switch (segment.kind) {
    case SegmentKind::whole:
      return {-far, far};
    case SegmentKind::band: {
      const std::int64_t w = capped_window(segment);
      return {key - segment.offset - w, key - segment.offset + w + 1};
    }
    case SegmentKind::block: {
      const TokenRange block = block_of(hull, segment, key);
      return {block.begin - segment.offset, block.end - segment.offset};
    }
  }
  return {0, 0};
}

TokenRange reach_of(TokenRange hull, const Segment& segment, TokenRange rows) {
  if (rows.empty() || hull.empty()) return {hull.begin, hull.begin};
  if (segment.kind == SegmentKind::whole) return hull;
  if (segment.kind == SegmentKind::band) {
    const std::int64_t w = capped_window(segment);
    return intersect(hull, {rows.begin + segment.offset - w, rows.end + segment.offset + w});
  }
  const TokenRange opposite =
      intersect(hull, {rows.begin + segment.offset, rows.end + segment.offset});
  if (opposite.empty()) return {hull.begin, hull.begin};
  return {block_of(hull, segment, opposite.begin).begin,
          block_of(hull, segment, opposite.end - 1).end};
}

void append_keys_within(const AttentionPlan& plan, const Segment& segment, TokenRange range,
                        std::vector<TokenRange>& intervals) {
  const auto skipped = within(plan.skipped_of(segment), range);
  if (segment.keys.listed) {
    for (const std::int64_t token : within(listed_tokens(plan, segment.keys), range)) {
      if (std::binary_search(skipped.begin(), skipped.end(), token)) continue;
      intervals.push_back({token, token + 1});
    }
    return;
  }
  TokenRange rest = intersect(range, {segment.keys.begin, segment.keys.end});
  for (const std::int64_t token : skipped) {
    if (token > rest.begin) intervals.push_back({rest.begin, token});
    rest.begin = token + 1;
  }
  if (!rest.empty()) intervals.push_back(rest);
}

std::int64_t count_keys_within(const AttentionPlan& plan, const Segment& segment,
                               TokenRange range) {
  const auto skipped = static_cast<std::int64_t>(within(plan.skipped_of(segment), range).size());
  if (segment.keys.listed) {
    const auto keys = within(listed_tokens(plan, segment.keys), range);
    return static_cast<std::int64_t>(keys.size()) - skipped;
  }
  return intersect(range, {segment.keys.begin, segment.keys.end}).size() - skipped;
}

void merge_intervals(std::vector<TokenRange>& intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](TokenRange a, TokenRange b) { return a.begin < b.begin; });
  std::size_t kept = 0;
  for (const TokenRange interval : intervals) {
    if (interval.empty()) continue;
    if (kept > 0 && interval.begin <= intervals[kept - 1].end) {
      intervals[kept - 1].end = std::max(intervals[kept - 1].end, interval.end);
    } else {
      intervals[kept++] = interval;
    }
  }
  intervals.resize(kept);
}

void append_key_intervals(const AttentionPlan& plan, const Segment& segment, std::int64_t query,
                          std::vector<TokenRange>& intervals) {
  const TokenRange hull = hull_of(plan, segment.keys);
  const std::size_t first = intervals.size();
  append_keys_within(plan, segment, window_within(hull, segment, query), intervals);
  if (!segment.keys.listed) return;
  // Adjacent listed keys form one interval.
  std::size_t kept = first;
  for (std::size_t i = first; i < intervals.size(); ++i) {
    if (kept > first && intervals[kept - 1].end == intervals[i].begin) {
      intervals[kept - 1].end = intervals[i].end;
    } else {
      intervals[kept++] = intervals[i];
    }
  }
  intervals.resize(kept);
}

std::vector<TokenRange> key_intervals(const AttentionPlan& plan, const Task& task,
                                      std::int64_t query) {
  std::vector<TokenRange> intervals;
  for (const Segment& segment : plan.segments_of(task)) {
    append_key_intervals(plan, segment, query, intervals);
  }
  merge_intervals(intervals);
  return intervals;
}

}  // namespace attnscope
