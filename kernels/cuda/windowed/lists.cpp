// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/windowed/lists.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

#include "kernels/cuda/sections.h"
#include "kernels/cuda/windowed.h"

namespace attnscope::cuda {
namespace windowed {
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

void seal(Lists& lists) {
  Sections& at = lists.sections;
  at.rules = append_section(lists.bytes, lists.rules);
  at.skip_words = append_section(lists.bytes, lists.skip_words);
  at.indices = append_section(lists.bytes, lists.indices);
  at.spans = append_section(lists.bytes, lists.spans);
  at.row_units = append_section(lists.bytes, lists.row_units);
  at.row_merges = append_section(lists.bytes, lists.row_merges);
  at.parts = append_section(lists.bytes, lists.parts);
  at.key_units = append_section(lists.bytes, lists.key_units);
  at.key_merges = append_section(lists.bytes, lists.key_merges);
}

DeviceLists on_device(const Lists& lists, const std::byte* base) {
  const Sections& from = lists.sections;
  return {.rules = section_at<Rule>(base, from.rules),
          .skip_words = section_at<std::uint32_t>(base, from.skip_words),
          .indices = section_at<std::int32_t>(base, from.indices),
          .spans = section_at<Span>(base, from.spans),
          .row_units = section_at<RowUnit>(base, from.row_units),
          .parts = section_at<KeyPart>(base, from.parts),
          .key_units = section_at<KeyUnit>(base, from.key_units)};
}

const Merge* row_merges_on_device(const Lists& lists, const std::byte* base) {
  return section_at<Merge>(base, lists.sections.row_merges);
}

const Merge* key_merges_on_device(const Lists& lists, const std::byte* base) {
  return section_at<Merge>(base, lists.sections.key_merges);
}

namespace {

Status check_head_dim(std::int64_t head_dim) {
  if (head_dim < 8 || head_dim > 256) {
    return fail("Windowed attention on CUDA takes head dimensions 8 to 256, not {}", head_dim);
  }
  return {};
}

Result<WindowedWork> cut(const AttentionPlan& plan, const std::vector<TokenRange>& written,
                         std::int64_t head_dim, DType dtype, Passes passes) {
  if (Status s = windowed_supports(plan, head_dim); !s) return tl::unexpected(s.error());
  auto lists = std::make_shared<Lists>();
  lists->head_dim = head_dim;
  lists->dtype = dtype;
  lists->passes = passes;
  lists->heads_per_unit = heads_per_unit(plan);
  if (Status s = make_rules(plan, *lists); !s) return tl::unexpected(s.error());
  if (Status s = cut_rows(plan, *lists); !s) return tl::unexpected(s.error());
  if (passes == Passes::forward_backward) {
    if (Status s = cut_keys(plan, written, *lists); !s) return tl::unexpected(s.error());
  }
  seal(*lists);
  return WindowedWork(std::move(lists));
}

}  // namespace
}  // namespace windowed

WindowedWork::WindowedWork(std::shared_ptr<const windowed::Lists> lists)
    : lists_(std::move(lists)) {}

std::span<const std::byte> WindowedWork::list() const {
  return lists_->bytes;
}

std::int64_t WindowedWork::workspace_bytes() const {
  return lists_->partial_rows * lists_->heads_per_unit * lists_->head_dim *
         static_cast<std::int64_t>(sizeof(float));
}

std::int64_t WindowedWork::score_elements() const {
  return lists_->score_elements;
}

Status windowed_supports(const AttentionPlan& plan, std::int64_t head_dim) {
  if (Status s = windowed::check_head_dim(head_dim); !s) return s;
  return has_windowed_layout(plan, /*most=*/std::int64_t{1} << 40);
}

std::int64_t windowed_backward_elements(const AttentionPlan& plan) {
  return windowed_score_elements(plan);
}

Result<WindowedWork> band_work(const BandProblem& problem, DType dtype, Passes passes) {
  if (problem.window < 0) {
    return fail("The band has window {}; a window is at least 0", problem.window);
  }
  if (problem.heads < 1 || problem.heads > std::numeric_limits<std::int32_t>::max()) {
    return fail("The band has {} heads; give at least 1", problem.heads);
  }
  // A band is a plan whose sequences see nothing but themselves.
  AttentionPlan plan;
  plan.heads = static_cast<std::int32_t>(problem.heads);
  std::vector<TokenRange> written;
  for (const TokenRange& sequence : problem.sequences) {
    if (sequence.empty()) continue;
    plan.tasks.push_back({.queries = {sequence.begin, sequence.end},
                          .heads = {0, plan.heads},
                          .first_segment = static_cast<std::int64_t>(plan.segments.size()),
                          .segment_count = 1});
    plan.segments.push_back({.keys = {sequence.begin, sequence.end},
                             .kind = SegmentKind::band,
                             .window = problem.window});
    plan.tokens = sequence.end;
    written.push_back(sequence);
  }
  return windowed::cut(plan, written, problem.head_dim, dtype, passes);
}

Result<WindowedWork> windowed_work(const AttentionPlan& plan, std::int64_t head_dim, DType dtype,
                                   Passes passes) {
  return windowed::cut(plan, {{0, plan.tokens}}, head_dim, dtype, passes);
}

}  // namespace attnscope::cuda
