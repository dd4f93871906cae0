// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/work/narrow_rows.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "kernels/cuda/work/rules.h"
#include "kernels/cuda/work/tiles.h"
#include "kernels/cuda/work/unseen_tokens.h"

namespace attnscope::cuda {
namespace {

/// Narrow tasks of an item that its tiles are offered; the others get units of their own. It keeps
/// the search linear where an item has thousands.
constexpr std::size_t most_offered = 16;
/// What is left over is staged by a tile that has the rows already, up to so much.
constexpr std::int64_t few_tokens = 64;
constexpr std::size_t few_spans = 4;
/// Slots of a unit of narrow rows alone, and of each of its strips; longer units keep the parts of
/// one task at no more than most_own_units * (1 + most_extras).
constexpr std::int32_t own_slots = 512 / slot_tokens;
constexpr std::int32_t own_strip_slots = 128 / slot_tokens;
constexpr std::int32_t most_own_units = 64;

struct NarrowTask {
  const DirectedTask* task = nullptr;
  UnseenTokens unseen;
  std::int32_t split = 0;                       // in Draft::splits
  std::size_t first_unit = 0, first_extra = 0;  // of its first strip, when it has parts

  [[nodiscard]] bool is_done(const Draft& draft) const {
    return unseen.count() == 0 && draft.splits[static_cast<std::size_t>(split)].parts > 0;
  }
};

class Placing {
 public:
  Placing(const Direction& direction, Indices indices, Draft& draft)
      : indices_(indices), draft_(draft) {
    for (const DirectedTask& task : direction.tasks) {
      if (!is_narrow(task)) continue;
      const auto split = static_cast<std::int32_t>(draft.splits.size());
      draft.splits.push_back({.run = task.run, .parts = 0});
      std::vector<std::size_t>& offered = offered_[task.item];
      if (offered.size() < most_offered) offered.push_back(narrow_.size());
      narrow_.push_back({&task, UnseenTokens(direction.segments_of(task)), split});
    }
  }

  void place() {
    for (const std::size_t unit : by_first_token()) offer(unit);
    for (const std::size_t number : by_unseen_tokens()) {
      NarrowTask& narrow = narrow_[number];
      if (narrow.is_done(draft_)) continue;
      if (!append_to_its_strip(narrow)) add_own_units(narrow);
    }
  }

 private:
  [[nodiscard]] std::vector<std::size_t> by_first_token() const {
    std::vector<std::size_t> units(draft_.units.size());
    std::iota(units.begin(), units.end(), std::size_t{0});
    std::ranges::stable_sort(units, {}, [&](std::size_t unit) {
      return token_at(draft_.units[unit].tile.run, 0, indices_);
    });
    return units;
  }

  /// The most first, so that the units they get serve the others of their item.
  [[nodiscard]] std::vector<std::size_t> by_unseen_tokens() const {
    std::vector<std::size_t> numbers(narrow_.size());
    std::iota(numbers.begin(), numbers.end(), std::size_t{0});
    std::ranges::stable_sort(numbers, std::ranges::greater{},
                             [&](std::size_t number) { return narrow_[number].unseen.count(); });
    return numbers;
  }

  std::int32_t next_part(const NarrowTask& narrow) {
    return draft_.splits[static_cast<std::size_t>(narrow.split)].parts++;
  }

  /// Lets the narrow tasks of the unit's item, and those of several items, take what it stages.
  void offer(std::size_t unit) {
    const std::int64_t item = draft_.units[unit].item;
    offer(unit, item);
    if (item != -1) offer(unit, -1);
  }

  void offer(std::size_t unit, std::int64_t item) {
    const auto offered = offered_.find(item);
    if (offered == offered_.end()) return;
    for (const std::size_t number : offered->second) {
      if (draft_.units[unit].extras.size() == most_extras) return;
      if (!narrow_[number].is_done(draft_)) take(narrow_[number], unit);
    }
    std::erase_if(offered->second,
                  [&](std::size_t number) { return narrow_[number].is_done(draft_); });
  }

  void take(NarrowTask& narrow, std::size_t number) {
    DraftUnit& unit = draft_.units[number];
    DraftStrip strip{.run = narrow.task->run, .rules = {}, .split = narrow.split};
    const std::int64_t before = narrow.unseen.count();
    for (const WorkSpan& span : unit.spans) {
      strip.rules.push_back(narrow.unseen.take(span, indices_).value_or(WorkRule{}));
    }
    // Rows that see nothing have to be written somewhere, too.
    if (narrow.unseen.count() == before && before > 0) return;
    strip.part = next_part(narrow);
    if (strip.part == 0) {
      narrow.first_unit = number;
      narrow.first_extra = unit.extras.size();
    }
    unit.extras.push_back(std::move(strip));
  }

  /// Has the unit of the task's first strip stage what is left, if it is little.
  bool append_to_its_strip(NarrowTask& narrow) {
    if (draft_.splits[static_cast<std::size_t>(narrow.split)].parts == 0) return false;
    if (narrow.unseen.count() > few_tokens || narrow.unseen.stretches() > few_spans) return false;
    DraftUnit& unit = draft_.units[narrow.first_unit];
    for (const WorkSpan& span : narrow.unseen.take_rest()) {
      unit.spans.push_back(span);
      unit.tile.rules.emplace_back();
      for (DraftStrip& strip : unit.extras) strip.rules.emplace_back();
      unit.extras[narrow.first_extra].rules.back() = rule_of(span, span.run);
    }
    return true;
  }

  [[nodiscard]] WorkRule rule_of(const WorkSpan& span, const WorkRun& part) const {
    WorkRule rule = whole_of(hull_of(part, indices_));
    rule.skips = span.skips >= 0 ? 1 : 0;
    return rule;
  }

  void add_own_units(NarrowTask& narrow) {
    const std::vector<WorkSpan> rest = narrow.unseen.take_rest();
    const std::int32_t slots = slots_of(rest);
    const std::int32_t unit_slots =
        std::max(own_slots, (slots + most_own_units - 1) / most_own_units);
    std::int32_t first = 0;
    do {
      DraftUnit unit{.item = narrow.task->item, .tile = {}, .spans = {}, .extras = {}};
      for (const SpanPart& part : parts_within(rest, first, first + unit_slots)) {
        unit.spans.push_back(rest[part.span]);
        unit.spans.back().run = part.run;
      }
      add_strips(narrow, unit);
      draft_.units.push_back(std::move(unit));
      offer(draft_.units.size() - 1);
      first += unit_slots;
    } while (first < slots);
  }

  /// The task's rows several times in one unit, each for other streamed tokens.
  void add_strips(const NarrowTask& narrow, DraftUnit& unit) {
    const std::int64_t slots = slots_of(unit.spans);
    const std::int64_t strips = std::clamp<std::int64_t>(
        (slots + own_strip_slots - 1) / own_strip_slots, 1, 1 + most_extras);
    for (std::int64_t s = 0; s < strips; ++s) {
      DraftStrip strip{.run = narrow.task->run,
                       .rules = std::vector<WorkRule>(unit.spans.size()),
                       .split = narrow.split,
                       .part = next_part(narrow)};
      const auto begin = static_cast<std::int32_t>(s * slots / strips);
      const auto end = static_cast<std::int32_t>((s + 1) * slots / strips);
      for (const SpanPart& part : parts_within(unit.spans, begin, end)) {
        strip.rules[part.span] = rule_of(unit.spans[part.span], part.run);
      }
      if (s == 0) {
        unit.tile = std::move(strip);
      } else {
        unit.extras.push_back(std::move(strip));
      }
    }
  }

  Indices indices_;
  Draft& draft_;
  std::vector<NarrowTask> narrow_;
  std::unordered_map<std::int64_t, std::vector<std::size_t>> offered_;
};

}  // namespace

void place_narrow_rows(const Direction& direction, Indices indices, Draft& draft) {
  Placing(direction, indices, draft).place();
}

}  // namespace attnscope::cuda
