// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/work/rules.h"

#include <algorithm>

namespace attnscope::cuda {
namespace {

std::int32_t narrow(std::int64_t value) {
  return static_cast<std::int32_t>(value);
}

WorkRule whole_of(const TokenInterval& tokens) {
  return {.kind = RuleKind::whole, .begin = tokens.begin, .end = tokens.end};
}

/// Windows and offsets beyond any pair of tokens are cut to what the tokens can tell apart.
WorkRule band_of(const Segment& segment, const TokenInterval& hull, std::int64_t tokens) {
  constexpr std::int64_t far = std::int64_t{1} << 60;
  const std::int64_t window = std::min(segment.window, far);
  const std::int64_t offset = std::clamp(segment.offset, -far, far);
  // Key minus query lies in [low, high], and in (-tokens, tokens) anyway.
  std::int64_t low = offset - window, high = offset + window;
  if (low >= tokens || high <= -tokens) return {};
  if (low <= 1 - tokens && high >= tokens - 1) return whole_of(hull);
  if (low < -tokens) low = high % 2 == 0 ? -tokens - tokens % 2 : -tokens - (tokens + 1) % 2;
  if (high > tokens) high = low % 2 == 0 ? tokens + tokens % 2 : tokens + (tokens + 1) % 2;
  return {.kind = RuleKind::band,
          .begin = hull.begin,
          .end = hull.end,
          .window = narrow((high - low) / 2),
          .offset = narrow((high + low) / 2)};
}

WorkRule block_of(const Segment& segment, const TokenInterval& hull, std::int64_t tokens) {
  if (segment.offset >= tokens || segment.offset <= -tokens) return {};
  return {.kind = RuleKind::block,
          .begin = hull.begin,
          .end = hull.end,
          .window = narrow(std::min<std::int64_t>(segment.window, hull.size())),
          .offset = narrow(segment.offset),
          .origin = hull.begin,
          .until = hull.end - narrow(segment.offset)};
}

}  // namespace

WorkRule rule_of(const Segment& segment, const TokenInterval& hull, std::int64_t tokens) {
  if (hull.empty()) return {};
  switch (segment.kind) {
    case SegmentKind::whole:
      return whole_of(hull);
    case SegmentKind::band:
      return band_of(segment, hull, tokens);
    case SegmentKind::block:
      return block_of(segment, hull, tokens);
  }
  return {};
}

WorkRule mirrored(const WorkRule& rule, const TokenInterval& rows) {
  WorkRule back = rule;
  back.begin = rows.begin;
  back.end = rows.end;
  if (rule.kind == RuleKind::band) back.offset = -rule.offset;
  if (rule.kind == RuleKind::block) {
    back.offset = 0;
    back.back = rule.offset;
    back.begin = std::max(rows.begin, rule.begin - rule.offset);
    back.end = std::min(rows.end, rule.end - rule.offset);
    back.until = WorkRule().until;
  }
  return back;
}

}  // namespace attnscope::cuda
