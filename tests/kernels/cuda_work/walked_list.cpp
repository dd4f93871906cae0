// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/cuda_work/walked_list.h"

#include <algorithm>

namespace attnscope::testing {

using cuda::RuleKind;

void for_each_rows(const cuda::WorkList& list, const cuda::WorkUnit& unit,
                   const std::function<void(const WalkedRows&)>& visit) {
  if (unit.run.count > 0) visit({&unit, unit.run, unit.first_rule, unit.part});
  for (std::int32_t i = 0; i < unit.extras; ++i) {
    const cuda::WorkStrip& strip = list.strips.at(static_cast<std::size_t>(unit.first_extra + i));
    visit({&unit, strip.run, strip.first_rule, strip.part});
  }
}

std::int32_t token_of(const cuda::WorkList& list, const cuda::WorkRun& run, std::int32_t position) {
  const std::int32_t at = run.begin + position;
  return run.listed != 0 ? list.indices.at(static_cast<std::size_t>(at)) : at;
}

bool sees(const cuda::WorkRule& rule, std::int64_t t, std::int64_t token) {
  if (rule.kind == RuleKind::none || token < rule.begin || token >= rule.end) return false;
  if (rule.kind == RuleKind::whole) return true;
  const std::int64_t opposite = t + rule.offset;
  if (rule.kind == RuleKind::band) {
    return token >= opposite - rule.window && token <= opposite + rule.window;
  }
  std::int64_t block = (opposite - rule.origin) / rule.window;
  if (block * rule.window > opposite - rule.origin) --block;
  const std::int64_t low = rule.origin + block * rule.window - rule.back;
  return token >= low && token < low + rule.window;
}

bool is_left_out(const cuda::WorkList& list, const cuda::WorkSpan& span, std::int32_t token) {
  if (span.skips < 0) return false;
  const std::int32_t bit = token - span.skip_origin;
  const std::uint32_t word = list.skip_words.at(static_cast<std::size_t>(span.skips + bit / 32));
  return (word >> (bit % 32) & 1U) != 0;
}

void for_each_pair(const cuda::WorkList& list, const WalkedRows& rows,
                   const std::function<void(std::int32_t, std::int32_t)>& visit) {
  for (std::int32_t s = 0; s < rows.unit->spans; ++s) {
    const auto& span = list.spans.at(static_cast<std::size_t>(rows.unit->first_span + s));
    const auto& rule = list.rules.at(static_cast<std::size_t>(rows.first_rule + s));
    if (rule.kind == RuleKind::none) continue;
    for (std::int32_t j = 0; j < span.run.count; ++j) {
      const std::int32_t token = token_of(list, span.run, j);
      if (rule.skips != 0 && is_left_out(list, span, token)) continue;
      for (std::int32_t i = 0; i < rows.run.count; ++i) {
        const std::int32_t t = token_of(list, rows.run, i);
        if (sees(rule, t, token)) visit(t, token);
      }
    }
  }
}

std::span<const cuda::WorkUnit> forward_units(const cuda::WorkList& list) {
  return std::span(list.units).first(static_cast<std::size_t>(list.forward_units));
}

std::span<const cuda::WorkUnit> backward_units(const cuda::WorkList& list) {
  return std::span(list.units).subspan(static_cast<std::size_t>(list.forward_units));
}

}  // namespace attnscope::testing
