// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/work/narrow_rows.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/cuda/work/directed_tasks.h"
#include "kernels/cuda/work/rules.h"
#include "kernels/cuda/work/tiles.h"

namespace attnscope::cuda {

/// What has not streamed past a narrow task's rows yet.
class UnseenTokens {
 public:
  /// All of the segments, which are whole.
  explicit UnseenTokens(std::span<const DirectedSegment> segments);

  [[nodiscard]] std::int64_t count() const { return count_; }
  /// In how many pieces they lie.
  [[nodiscard]] std::size_t stretches() const { return stretches_.size(); }

  /// Takes the first interval that a staged span and the unseen tokens share, and gives the rule
  /// for it.
  [[nodiscard]] std::optional<WorkRule> take(const WorkSpan& staged, Indices indices);

  /// Takes all that is left, as spans to be staged.
  [[nodiscard]] std::vector<WorkSpan> take_rest();

 private:
  /// Contiguous tokens by their number, listed ones by their position in the index list.
  using Place = std::pair<std::int32_t, std::int32_t>;  // listed, begin
  struct Stretch {
    std::int32_t end = 0;
    std::int32_t skips = -1;  // as of a WorkSpan
    std::int32_t skip_origin = 0;
  };

  std::map<Place, Stretch> stretches_;
  std::int64_t count_ = 0;
};

UnseenTokens::UnseenTokens(std::span<const DirectedSegment> segments) {
  for (const DirectedSegment& segment : segments) {
    const WorkRun& run = segment.run;
    stretches_[{run.listed, run.begin}] = {.end = run.begin + run.count,
                                           .skips = segment.span.skips,
                                           .skip_origin = segment.span.skip_origin};
    count_ += run.count;
  }
}

std::optional<WorkRule> UnseenTokens::take(const WorkSpan& staged, Indices indices) {
  const std::int32_t listed = staged.run.listed;
  const TokenInterval offered{staged.run.begin, staged.run.begin + staged.run.count};
  auto found = stretches_.upper_bound({listed, offered.begin});
  if (found != stretches_.begin()) {
    const auto before = std::prev(found);
    if (before->first.first == listed && before->second.end > offered.begin) found = before;
  }
  for (; found != stretches_.end(); ++found) {
    const auto [place, stretch] = *found;
    if (place.first != listed || place.second >= offered.end) break;
    // Left-out tokens are known by the span's bitmap alone.
    if (stretch.skips >= 0 && stretch.skips != staged.skips) continue;
    const TokenInterval taken{std::max(place.second, offered.begin),
                              std::min(stretch.end, offered.end)};
    stretches_.erase(found);
    if (place.second < taken.begin) {
      stretches_[place] = {taken.begin, stretch.skips, stretch.skip_origin};
    }
    if (taken.end < stretch.end) stretches_[{listed, taken.end}] = stretch;
    count_ -= taken.size();
    WorkRule rule = whole_of(hull_of({taken.begin, taken.size(), listed}, indices));
    rule.skips = stretch.skips >= 0 ? 1 : 0;
    return rule;
  }
  return std::nullopt;
}

std::vector<WorkSpan> UnseenTokens::take_rest() {
  std::vector<WorkSpan> spans;
  for (const auto& [place, stretch] : stretches_) {
    spans.push_back({.run = {place.second, stretch.end - place.second, place.first},
                     .skips = stretch.skips,
                     .skip_origin = stretch.skip_origin});
  }
  stretches_.clear();
  count_ = 0;
  return spans;
}

namespace {

/// Narrow rows of an item that its tiles are offered to; the others get units of their own. It
/// keeps the search linear where an item has thousands.
constexpr std::size_t most_offered = 16;
/// What is left over is staged by a tile that has the rows already, up to so much.
constexpr std::int64_t few_tokens = 64;
constexpr std::size_t few_spans = 4;
/// One warp merges the parts of a strip, about as many rows of partial results as this in the time
/// in which the machine stages a slot of one head that many times; and so many are no matter.
constexpr std::int64_t slots_per_merged_row = 430;
constexpr std::int64_t few_merged_rows = 64;
/// A strip past which a slot streams takes about as long as a warp that merges three rows.
constexpr std::int64_t merged_rows_per_slot = 3;
constexpr std::int32_t least_own_slots = 128 / slot_tokens;

/// A strip's rows of a narrow task.
struct NarrowRows {
  std::int64_t item = -1;
  WorkRun run;
  std::span<const DirectedSegment> segments;
  UnseenTokens unseen;
  std::int32_t split = 0;      // in Draft::splits
  std::size_t first_unit = 0;  // that has a strip of these rows as an extra
};

class Placing {
 public:
  Placing(const Direction& direction, std::int32_t heads, Indices indices, Draft& draft)
      : heads_(heads), indices_(indices), draft_(draft) {
    for (const DirectedTask& task : direction.tasks) {
      if (!is_narrow(task)) continue;
      const std::int32_t strips = (task.run.count + strip_tokens - 1) / strip_tokens;
      for (std::int32_t s = 0; s < strips; ++s) {
        const std::int32_t first = s * task.run.count / strips;
        const std::int32_t last = (s + 1) * task.run.count / strips;
        add(task.item, part_of(task.run, first, last - first), direction.segments_of(task));
      }
    }
  }

  void place() {
    for (const std::size_t unit : by_first_token()) offer(unit);
    take_back_costly_parts();
    for (const std::size_t number : by_unseen_tokens()) {
      NarrowRows& rows = narrow_[number];
      if (is_done(rows)) continue;
      if (!append_to_its_strip(rows)) add_own_units(rows);
    }
  }

 private:
  void add(std::int64_t item, const WorkRun& run, std::span<const DirectedSegment> segments) {
    const auto split = static_cast<std::int32_t>(draft_.splits.size());
    draft_.splits.push_back({.run = run, .parts = 0});
    std::vector<std::size_t>& offered = offered_[item];
    if (offered.size() < most_offered) offered.push_back(narrow_.size());
    narrow_.push_back({item, run, segments, UnseenTokens(segments), split});
  }

  [[nodiscard]] std::int32_t& parts_of(const NarrowRows& rows) {
    return draft_.splits[static_cast<std::size_t>(rows.split)].parts;
  }

  NarrowRows& rows_of(const DraftStrip& extra) {
    return narrow_[static_cast<std::size_t>(extra.split - narrow_.front().split)];
  }

  [[nodiscard]] bool is_done(const NarrowRows& rows) {
    return rows.unseen.count() == 0 && parts_of(rows) > 0;
  }

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

  /// Lets the narrow rows of the unit's item, and those of several items, take what it stages.
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
      if (!is_done(narrow_[number])) take(narrow_[number], unit);
    }
    std::erase_if(offered->second, [&](std::size_t number) { return is_done(narrow_[number]); });
  }

  void take(NarrowRows& rows, std::size_t number) {
    DraftUnit& unit = draft_.units[number];
    DraftStrip strip{.run = rows.run, .rules = {}, .split = rows.split};
    const std::int64_t before = rows.unseen.count();
    for (const WorkSpan& span : unit.spans) {
      strip.rules.push_back(rows.unseen.take(span, indices_).value_or(WorkRule{}));
    }
    // Rows that see nothing have to be written somewhere, too.
    if (rows.unseen.count() == before && before > 0) return;
    strip.part = parts_of(rows)++;
    if (strip.part == 0) rows.first_unit = number;
    unit.extras.push_back(std::move(strip));
  }

  /// Rows whose parts would be merged for long after all else is done - a shared query's keys in a
  /// batch, a query's in a single long document - are better off past tokens read once more.
  void take_back_costly_parts() {
    std::int64_t slots = 0;
    for (const DraftUnit& unit : draft_.units) slots += slots_of(unit.spans);
    const std::int64_t most = std::max(few_merged_rows, slots * heads_ / slots_per_merged_row);
    std::vector<bool> taken_back(draft_.splits.size());
    for (std::size_t number = 0; number < narrow_.size(); ++number) {
      NarrowRows& rows = narrow_[number];
      if (std::int64_t{parts_of(rows)} * rows.run.count <= most) continue;
      taken_back[static_cast<std::size_t>(rows.split)] = true;
      parts_of(rows) = 0;
      rows.unseen = UnseenTokens(rows.segments);
      std::vector<std::size_t>& offered = offered_[rows.item];
      if (!std::ranges::count(offered, number)) offered.push_back(number);
    }
    for (DraftUnit& unit : draft_.units) {
      std::erase_if(unit.extras, [&](const DraftStrip& strip) {
        return taken_back[static_cast<std::size_t>(strip.split)];
      });
    }
  }

  /// Has the unit of the rows' first strip stage what is left, if it is little; the unit's other
  /// strips take what they need of it.
  bool append_to_its_strip(NarrowRows& rows) {
    if (parts_of(rows) == 0) return false;
    if (rows.unseen.count() > few_tokens || rows.unseen.stretches() > few_spans) return false;
    DraftUnit& unit = draft_.units[rows.first_unit];
    for (const WorkSpan& span : rows.unseen.take_rest()) {
      unit.spans.push_back(span);
      unit.tile.rules.emplace_back();
      for (DraftStrip& strip : unit.extras) {
        const bool is_its_own = strip.split == rows.split;
        strip.rules.push_back(
            is_its_own ? rule_of(span)
                       : rows_of(strip).unseen.take(span, indices_).value_or(WorkRule{}));
      }
    }
    return true;
  }

  [[nodiscard]] WorkRule rule_of(const WorkSpan& span) const {
    WorkRule rule = whole_of(hull_of(span.run, indices_));
    rule.skips = span.skips >= 0 ? 1 : 0;
    return rule;
  }

  /// Units whose tile these rows are. A unit's slots follow one another, and merges wait for all:
  /// the number of units balances the two.
  void add_own_units(NarrowRows& rows) {
    const std::vector<WorkSpan> rest = rows.unseen.take_rest();
    const std::int64_t slots = slots_of(rest);
    const double balanced =
        std::sqrt(static_cast<double>(merged_rows_per_slot * slots) / rows.run.count);
    const std::int64_t units = std::clamp<std::int64_t>(
        std::llround(balanced), 1, std::max<std::int64_t>(1, slots / least_own_slots));
    for (std::int64_t u = 0; u < units; ++u) {
      DraftUnit unit{
          .item = rows.item,
          .tile = {.run = rows.run, .rules = {}, .split = rows.split, .part = parts_of(rows)++},
          .spans = {},
          .extras = {}};
      const auto first = static_cast<std::int32_t>(u * slots / units);
      const auto last = static_cast<std::int32_t>((u + 1) * slots / units);
      for (const SpanPart& part : parts_within(rest, first, last)) {
        unit.spans.push_back(rest[part.span]);
        unit.spans.back().run = part.run;
        unit.tile.rules.push_back(rule_of(unit.spans.back()));
      }
      draft_.units.push_back(std::move(unit));
      offer(draft_.units.size() - 1);
    }
  }

  std::int32_t heads_;
  Indices indices_;
  Draft& draft_;
  std::vector<NarrowRows> narrow_;
  std::unordered_map<std::int64_t, std::vector<std::size_t>> offered_;
};

}  // namespace

void place_narrow_rows(const Direction& direction, std::int32_t heads, Indices indices,
                       Draft& draft) {
  Placing(direction, heads, indices, draft).place();
}

}  // namespace attnscope::cuda
