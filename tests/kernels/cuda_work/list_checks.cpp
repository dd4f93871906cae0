// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/cuda_work/list_checks.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace attnscope::testing {

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
  if (rule.kind == cuda::RuleKind::none || token < rule.begin || token >= rule.end) return false;
  if (rule.kind == cuda::RuleKind::whole) return true;
  const std::int64_t opposite = t + rule.offset;
  if (rule.kind == cuda::RuleKind::band) {
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
    if (rule.kind == cuda::RuleKind::none) continue;
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

namespace {

using cuda::UnitKind;
using cuda::WorkList;
using cuda::WorkRule;
using cuda::WorkRun;
using cuda::WorkSpan;
using cuda::WorkUnit;
using ::testing::AssertionFailure;
using ::testing::AssertionResult;
using ::testing::AssertionSuccess;

bool lies_in(std::int64_t first, std::int64_t count, std::size_t size) {
  return first >= 0 && count >= 0 && first + count <= static_cast<std::int64_t>(size);
}

AssertionResult run_is_sound(const WorkList& list, const WorkRun& run, std::int32_t most) {
  if (run.count < 1 || run.count > most) return AssertionFailure() << run.count << " tokens";
  const auto size = run.listed != 0 ? list.indices.size() : static_cast<std::size_t>(list.tokens);
  if (!lies_in(run.begin, run.count, size)) return AssertionFailure() << "a run out of bounds";
  std::int32_t last = -1;
  for (std::int32_t i = 0; run.listed != 0 && i < run.count; ++i) {
    const std::int32_t token = token_of(list, run, i);
    if (token <= last || token >= list.tokens) return AssertionFailure() << "tokens out of order";
    last = token;
  }
  return AssertionSuccess();
}

AssertionResult span_is_sound(const WorkList& list, const WorkSpan& span) {
  if (AssertionResult sound = run_is_sound(list, span.run, list.tokens); !sound) return sound;
  if (span.skips < 0) return AssertionSuccess();
  const std::int32_t first = token_of(list, span.run, 0);
  const std::int32_t last = token_of(list, span.run, span.run.count - 1);
  if (first < span.skip_origin ||
      !lies_in(span.skips, (last - span.skip_origin) / 32 + 1, list.skip_words.size())) {
    return AssertionFailure() << "a bitmap that does not cover its span";
  }
  return AssertionSuccess();
}

AssertionResult rule_is_sound(const WorkList& list, const WorkRule& rule, const WorkSpan& span) {
  if (rule.kind == cuda::RuleKind::none) return AssertionSuccess();
  const std::int32_t first = token_of(list, span.run, 0);
  const std::int32_t last = token_of(list, span.run, span.run.count - 1);
  if (rule.begin < first || rule.end > last + 1 || rule.begin > rule.end) {
    return AssertionFailure() << "a rule that reaches beyond its span";
  }
  if (rule.kind == cuda::RuleKind::block && rule.window < 1) {
    return AssertionFailure() << "blocks of no tokens";
  }
  if (rule.window < 0) return AssertionFailure() << "a negative window";
  if (rule.skips != 0 && span.skips < 0) return AssertionFailure() << "a rule without its bitmap";
  return AssertionSuccess();
}

AssertionResult rows_are_sound(const WorkList& list, const WalkedRows& rows, std::int32_t most) {
  if (AssertionResult sound = run_is_sound(list, rows.run, most); !sound) return sound;
  const WorkUnit& unit = *rows.unit;
  if (!lies_in(rows.first_rule, unit.spans, list.rules.size())) {
    return AssertionFailure() << "rules out of bounds";
  }
  for (std::int32_t s = 0; s < unit.spans; ++s) {
    const WorkSpan& span = list.spans[static_cast<std::size_t>(unit.first_span + s)];
    const WorkRule& rule = list.rules[static_cast<std::size_t>(rows.first_rule + s)];
    if (AssertionResult sound = rule_is_sound(list, rule, span); !sound) return sound;
  }
  return AssertionSuccess();
}

AssertionResult unit_is_sound(const WorkList& list, const WorkUnit& unit) {
  if (!lies_in(unit.first_span, unit.spans, list.spans.size()) ||
      !lies_in(unit.first_extra, unit.extras, list.strips.size()) ||
      !lies_in(unit.first_head, list.heads_per_unit, static_cast<std::size_t>(list.heads)) ||
      unit.extras > list.extra_warps || unit.run.count + unit.extras == 0) {
    return AssertionFailure() << "a unit out of bounds";
  }
  std::int32_t slots = 0;
  for (std::int32_t s = 0; s < unit.spans; ++s) {
    const WorkSpan& span = list.spans[static_cast<std::size_t>(unit.first_span + s)];
    if (AssertionResult sound = span_is_sound(list, span); !sound) return sound;
    slots += (span.run.count + cuda::slot_tokens - 1) / cuda::slot_tokens;
  }
  if (slots != unit.slots) return AssertionFailure() << unit.slots << " slots, not " << slots;
  AssertionResult result = AssertionSuccess();
  for_each_rows(list, unit, [&](const WalkedRows& rows) {
    const bool is_tile = rows.first_rule == unit.first_rule && rows.run.begin == unit.run.begin;
    const std::int32_t most = is_tile ? list.main_warps * cuda::strip_tokens : cuda::strip_tokens;
    if (result) result = rows_are_sound(list, rows, most);
  });
  return result;
}

/// What the units of one pass write, and in which partial rows.
class Writes {
 public:
  Writes(const WorkList& list, UnitKind kind)
      : list_(list),
        kind_(kind),
        written_(static_cast<std::size_t>(list.tokens) * static_cast<std::size_t>(list.heads)) {}

  AssertionResult add(const WalkedRows& rows) {
    for (std::int32_t h = 0; h < list_.heads_per_unit; ++h) {
      const std::int32_t head = rows.unit->first_head + h;
      if (rows.part.merge < 0) {
        write(rows.run, head);
        continue;
      }
      if (!lies_in(rows.part.merge, 1, list_.merges.size())) {
        return AssertionFailure() << "a merge out of bounds";
      }
      const cuda::WorkMerge& merge = list_.merges[static_cast<std::size_t>(rows.part.merge)];
      const std::int32_t slot = rows.part.first_slot - merge.first_slot;
      if (merge.kind != kind_ || !same(merge.run, rows.run) || slot < 0 ||
          slot % rows.run.count != 0 || slot / rows.run.count >= merge.parts) {
        return AssertionFailure() << "a part that is not of its merge";
      }
      if (!arrived_[{rows.part.merge, head}].insert(slot).second) {
        return AssertionFailure() << "a part that arrives twice";
      }
    }
    return AssertionSuccess();
  }

  AssertionResult are_complete() {
    for (const auto& [place, slots] : arrived_) {
      const cuda::WorkMerge& merge = list_.merges[static_cast<std::size_t>(place.first)];
      if (static_cast<std::int32_t>(slots.size()) != merge.parts || merge.parts < 2) {
        return AssertionFailure() << slots.size() << " arrivals for " << merge.parts << " parts";
      }
      write(merge.run, place.second);
    }
    for (std::size_t i = 0; i < written_.size(); ++i) {
      if (written_[i] == 1) continue;
      return AssertionFailure() << (kind_ == UnitKind::rows ? "row " : "key ")
                                << i / static_cast<std::size_t>(list_.heads) << " is written "
                                << written_[i] << " times";
    }
    return AssertionSuccess();
  }

 private:
  static bool same(const WorkRun& a, const WorkRun& b) {
    return a.begin == b.begin && a.count == b.count && a.listed == b.listed;
  }
  void write(const WorkRun& run, std::int32_t head) {
    for (std::int32_t i = 0; i < run.count; ++i) {
      const auto token = static_cast<std::size_t>(token_of(list_, run, i));
      ++written_[token * static_cast<std::size_t>(list_.heads) + static_cast<std::size_t>(head)];
    }
  }

  const WorkList& list_;
  UnitKind kind_;
  std::vector<int> written_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::set<std::int32_t>> arrived_;
};

AssertionResult units_write_all_once(const WorkList& list, std::span<const WorkUnit> units,
                                     UnitKind kind) {
  Writes writes(list, kind);
  AssertionResult result = AssertionSuccess();
  for (const WorkUnit& unit : units) {
    if (unit.kind != kind) continue;
    for_each_rows(list, unit, [&](const WalkedRows& rows) {
      if (result) result = writes.add(rows);
    });
    if (!result) return result;
  }
  return writes.are_complete();
}

AssertionResult partial_rows_are_apart(const WorkList& list) {
  std::vector<char> used(static_cast<std::size_t>(list.partial_rows));
  for (const cuda::WorkMerge& merge : list.merges) {
    if (!lies_in(merge.first_slot, std::int64_t{merge.parts} * merge.run.count, used.size())) {
      return AssertionFailure() << "partial rows out of bounds";
    }
    for (std::int32_t i = 0; i < merge.parts * merge.run.count; ++i) {
      if (std::exchange(used[static_cast<std::size_t>(merge.first_slot + i)], 1) != 0) {
        return AssertionFailure() << "partial row " << merge.first_slot + i << " is used twice";
      }
    }
  }
  return AssertionSuccess();
}

/// How often each pair of a head is computed, at row * tokens + key.
using PairCounts = std::vector<unsigned char>;

AssertionResult computes(const WorkList& list, std::span<const WorkUnit> units, UnitKind kind,
                         std::int32_t head, const PairCounts& wanted) {
  PairCounts counts(wanted.size());
  for (const WorkUnit& unit : units) {
    if (unit.kind != kind || head < unit.first_head ||
        head >= unit.first_head + list.heads_per_unit) {
      continue;
    }
    for_each_rows(list, unit, [&](const WalkedRows& rows) {
      for_each_pair(list, rows, [&](std::int32_t t, std::int32_t token) {
        const std::int64_t row = kind == UnitKind::rows ? t : token;
        const std::int64_t key = kind == UnitKind::rows ? token : t;
        ++counts[static_cast<std::size_t>(row * list.tokens + key)];
      });
    });
  }
  const auto differs = std::ranges::mismatch(counts, wanted).in1 - counts.begin();
  if (static_cast<std::size_t>(differs) == counts.size()) return AssertionSuccess();
  return AssertionFailure() << "units of " << (kind == UnitKind::rows ? "rows" : "keys")
                            << " compute row " << differs / list.tokens << ", key "
                            << differs % list.tokens << " of head " << head << " "
                            << static_cast<int>(counts[static_cast<std::size_t>(differs)])
                            << " times";
}

}  // namespace

AssertionResult is_within_bounds(const WorkList& list) {
  if (list.main_warps != 4 && list.main_warps != 8) {
    return AssertionFailure() << list.main_warps << " main warps";
  }
  if (list.extra_warps > 3) return AssertionFailure() << list.extra_warps << " extra warps";
  for (const WorkUnit& unit : list.units) {
    if (AssertionResult sound = unit_is_sound(list, unit); !sound) return sound;
  }
  if (list.forward_units > static_cast<std::int32_t>(list.units.size())) {
    return AssertionFailure() << "more forward units than units";
  }
  return AssertionSuccess();
}

AssertionResult writes_all_once(const WorkList& list) {
  AssertionResult result = partial_rows_are_apart(list);
  if (result) result = units_write_all_once(list, forward_units(list), UnitKind::rows);
  if (!result || backward_units(list).empty()) return result;
  result = units_write_all_once(list, backward_units(list), UnitKind::rows);
  if (result) result = units_write_all_once(list, backward_units(list), UnitKind::keys);
  return result;
}

AssertionResult computes_the_pairs(const WorkList& list, const KeysOf& keys_of) {
  AssertionResult result = AssertionSuccess();
  for (std::int32_t head = 0; result && head < list.heads; ++head) {
    PairCounts wanted(static_cast<std::size_t>(list.tokens) *
                      static_cast<std::size_t>(list.tokens));
    for (std::int64_t row = 0; row < list.tokens; ++row) {
      for (const std::int64_t key : keys_of(row, head)) {
        wanted[static_cast<std::size_t>(row * list.tokens + key)] = 1;
      }
    }
    result = computes(list, forward_units(list), UnitKind::rows, head, wanted);
    if (!result || backward_units(list).empty()) continue;
    result = computes(list, backward_units(list), UnitKind::rows, head, wanted);
    if (result) result = computes(list, backward_units(list), UnitKind::keys, head, wanted);
  }
  return result;
}

AssertionResult wastes_nothing(const WorkList& list) {
  for (const WorkUnit& unit : list.units) {
    AssertionResult result = AssertionSuccess();
    for_each_rows(list, unit, [&](const WalkedRows& rows) {
      const auto rules = std::span(list.rules)
                             .subspan(static_cast<std::size_t>(rows.first_rule),
                                      static_cast<std::size_t>(unit.spans));
      if (rows.part.merge < 0 || std::ranges::any_of(rules, [](const WorkRule& rule) {
            return rule.kind != cuda::RuleKind::none;
          })) {
        return;
      }
      result = AssertionFailure() << "a part of rows that see nothing of it";
    });
    if (!result) return result;
    for (std::int32_t s = 0; s < unit.spans; ++s) {
      const WorkSpan& span = list.spans[static_cast<std::size_t>(unit.first_span + s)];
      const WorkRule& rule = list.rules[static_cast<std::size_t>(unit.first_rule + s)];
      if (rule.kind != cuda::RuleKind::band) continue;
      const std::int64_t reach = token_of(list, unit.run, unit.run.count - 1) -
                                 token_of(list, unit.run, 0) + 1 + 2 * rule.window;
      if (span.run.count > reach) {
        return AssertionFailure() << span.run.count << " tokens staged where " << reach
                                  << " can be seen";
      }
    }
  }
  return AssertionSuccess();
}

AssertionResult cuts_well(const AttentionPlan& plan, const KeysOf& keys_of, std::int64_t head_dim) {
  for (const Passes passes : {Passes::forward, Passes::forward_backward}) {
    const Result<WorkList> list = cuda::cut_into_units(plan, head_dim, passes);
    if (!list) return AssertionFailure() << list.error().message;
    if (passes == Passes::forward && !backward_units(*list).empty()) {
      return AssertionFailure() << "units of a backward pass that was not asked for";
    }
    AssertionResult result = is_within_bounds(*list);
    if (result) result = writes_all_once(*list);
    if (result) result = wastes_nothing(*list);
    if (result) result = computes_the_pairs(*list, keys_of);
    if (!result) return result;
    if (passes == Passes::forward_backward && plan.tokens > 0 && backward_units(*list).empty()) {
      return AssertionFailure() << "no backward units";
    }
  }
  return AssertionSuccess();
}

}  // namespace attnscope::testing
