// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>

#include "kernels/cuda/windowed/lists.h"

namespace attnscope::cuda::windowed {
namespace {

/// Tokens, offsets and windows up to here: their sums are places, counted in 32 bits.
constexpr std::int64_t most = std::int64_t{1} << 29;

Status check_size(const AttentionPlan& plan) {
  if (plan.tokens > most || static_cast<std::int64_t>(plan.indices.size()) > most) {
    return fail("Windowed attention on CUDA takes up to {} tokens and listed tokens, not {} and {}",
                most, plan.tokens, plan.indices.size());
  }
  for (const Segment& segment : plan.segments) {
    if (segment.kind == SegmentKind::whole) continue;
    if (segment.window > most || segment.offset > most || segment.offset < -most) {
      return fail(
          "Windowed attention on CUDA takes windows and offsets up to {}, not {} and {}; use an "
          "infinite window",
          most, segment.window, segment.offset);
    }
  }
  return {};
}

/// A bitmap over the places from the first to the last skipped key.
void set_skips(const AttentionPlan& plan, const Segment& segment, Rule& rule, Lists& lists) {
  const auto first_place = plan.indices.begin() + (rule.listed != 0 ? rule.begin : 0);
  const auto last_place = plan.indices.begin() + (rule.listed != 0 ? rule.end : 0);
  std::vector<std::int32_t> places;
  for (const std::int64_t token : plan.skipped_of(segment)) {
    std::int64_t place = token;
    if (rule.listed != 0) {
      const auto found = std::lower_bound(first_place, last_place, token);
      if (found == last_place || *found != token) continue;
      place = found - plan.indices.begin();
    }
    if (place >= rule.begin && place < rule.end) places.push_back(static_cast<std::int32_t>(place));
  }
  if (places.empty()) return;
  rule.skips = static_cast<std::int32_t>(lists.skip_words.size());
  rule.skip_begin = places.front();
  rule.skip_end = places.back() + 1;
  lists.skip_words.resize(lists.skip_words.size() +
                          static_cast<std::size_t>((rule.skip_end - rule.skip_begin + 31) / 32));
  for (const std::int32_t place : places) {
    const auto bit = static_cast<std::size_t>(place - rule.skip_begin);
    lists.skip_words[static_cast<std::size_t>(rule.skips) + bit / 32] |= 1U << bit % 32;
  }
}

Rule rule_of(const Segment& segment) {
  Rule rule{.kind = segment.kind,
            .begin = static_cast<std::int32_t>(segment.keys.begin),
            .end = static_cast<std::int32_t>(segment.keys.end),
            .listed = segment.keys.listed ? 1 : 0};
  const auto size = static_cast<std::int32_t>(segment.keys.size());
  const auto offset = static_cast<std::int32_t>(segment.offset);
  switch (segment.kind) {
    case SegmentKind::whole:
      rule.width = size;
      break;
    case SegmentKind::band:
      rule.width = static_cast<std::int32_t>(2 * segment.window + 1);
      rule.shift = offset - static_cast<std::int32_t>(segment.window);
      break;
    case SegmentKind::block:
      rule.width = std::min(static_cast<std::int32_t>(segment.window), size);
      rule.window = static_cast<std::int32_t>(segment.window);
      rule.shift = offset;
      break;
  }
  return rule;
}

}  // namespace

Status make_rules(const AttentionPlan& plan, Lists& lists) {
  if (Status s = check_size(plan); !s) return s;
  lists.tokens = static_cast<std::int32_t>(plan.tokens);
  lists.heads = plan.heads;
  lists.indices.reserve(plan.indices.size());
  for (const std::int64_t token : plan.indices) {
    lists.indices.push_back(static_cast<std::int32_t>(token));
  }
  lists.rules.reserve(plan.segments.size());
  for (std::size_t s = 0; s < plan.segments.size(); ++s) {
    const Segment& segment = plan.segments[s];
    Rule rule = rule_of(segment);
    // The segments of per-head tasks repeat each other.
    const bool repeated = s > 0 && plan.segments[s - 1] == segment;
    if (repeated) {
      rule = lists.rules.back();
    } else if (segment.skip_begin < segment.skip_end) {
      set_skips(plan, segment, rule, lists);
    }
    lists.rules.push_back(rule);
  }
  return {};
}

std::int32_t heads_per_unit(const AttentionPlan& plan) {
  std::int32_t common = plan.heads;
  for (const Task& task : plan.tasks) {
    common = std::gcd(common, std::gcd(task.heads.begin, task.heads.end));
  }
  return std::max(common, 1);
}

}  // namespace attnscope::cuda::windowed
