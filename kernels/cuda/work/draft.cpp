// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/work/draft.h"

#include <algorithm>

namespace attnscope::cuda {
namespace {

std::int32_t size_of(const auto& table) {
  return static_cast<std::int32_t>(table.size());
}

class Layout {
 public:
  Layout(const Draft& draft, WorkList& list) : draft_(draft), list_(list) {
    for (const SplitRows& rows : draft.splits) {
      merge_of_.push_back(rows.parts > 1 ? size_of(list.merges) : -1);
      if (rows.parts <= 1) continue;
      list.merges.push_back({.kind = draft.kind,
                             .run = rows.run,
                             .first_slot = list.partial_rows,
                             .parts = rows.parts});
      list.partial_rows += rows.parts * rows.run.count;
    }
  }

  WorkUnit add(const DraftUnit& unit) {
    WorkUnit made{.kind = draft_.kind,
                  .run = unit.tile.run,
                  .first_rule = add_rules(unit.tile),
                  .part = part_of(unit.tile),
                  .first_span = size_of(list_.spans),
                  .spans = size_of(unit.spans),
                  .first_extra = size_of(list_.strips),
                  .extras = size_of(unit.extras),
                  .slots = slots_of(unit.spans)};
    list_.spans.insert(list_.spans.end(), unit.spans.begin(), unit.spans.end());
    for (const DraftStrip& strip : unit.extras) {
      list_.strips.push_back(
          {.run = strip.run, .first_rule = add_rules(strip), .part = part_of(strip)});
    }
    list_.extra_warps = std::max(list_.extra_warps, made.extras);
    return made;
  }

 private:
  std::int32_t add_rules(const DraftStrip& strip) {
    const std::int32_t first = size_of(list_.rules);
    list_.rules.insert(list_.rules.end(), strip.rules.begin(), strip.rules.end());
    return first;
  }

  /// Rows that turned out to have one part are written by it.
  [[nodiscard]] WorkPart part_of(const DraftStrip& strip) const {
    if (strip.split < 0) return {};
    const std::int32_t merge = merge_of_[static_cast<std::size_t>(strip.split)];
    if (merge < 0) return {};
    const WorkMerge& rows = list_.merges[static_cast<std::size_t>(merge)];
    return {.merge = merge, .first_slot = rows.first_slot + strip.part * rows.run.count};
  }

  const Draft& draft_;
  WorkList& list_;
  std::vector<std::int32_t> merge_of_;
};

}  // namespace

std::int32_t slots_of(std::span<const WorkSpan> spans) {
  std::int32_t slots = 0;
  for (const WorkSpan& span : spans) slots += slots_of(span.run);
  return slots;
}

std::vector<SpanPart> parts_within(std::span<const WorkSpan> spans, std::int32_t first,
                                   std::int32_t last) {
  std::vector<SpanPart> parts;
  std::int32_t before = 0;
  for (std::size_t s = 0; s < spans.size() && before < last; ++s) {
    const WorkRun& run = spans[s].run;
    const std::int32_t begin = std::max(0, first - before) * slot_tokens;
    const std::int32_t end = std::min(run.count, (last - before) * slot_tokens);
    if (begin < end) parts.push_back({s, part_of(run, begin, end - begin)});
    before += slots_of(run);
  }
  return parts;
}

std::vector<WorkUnit> lay_out(const Draft& draft, WorkList& list) {
  std::vector<const DraftUnit*> ordered;
  ordered.reserve(draft.units.size());
  for (const DraftUnit& unit : draft.units) ordered.push_back(&unit);
  std::ranges::stable_sort(ordered, {}, [&](const DraftUnit* unit) {
    return token_at(unit->tile.run, 0, list.indices);
  });
  Layout layout(draft, list);
  std::vector<WorkUnit> units;
  units.reserve(ordered.size());
  for (const DraftUnit* unit : ordered) units.push_back(layout.add(*unit));
  return units;
}

}  // namespace attnscope::cuda
