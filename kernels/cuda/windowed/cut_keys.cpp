// SPDX-License-Identifier: Apache-2.0
//
// Who sees which keys: for each tile of 64 tokens the rows that see any of them, in the plan's
// order. A tile that far more rows see than others ([CLS] and the query, which every document token
// sees) is cut into units of about 512 rows.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>

#include "kernels/cuda/windowed/lists.h"

namespace attnscope::cuda::windowed {
namespace {

/// A warp passes 16 rows at a time: some 30 steps hide a block's beginning and end.
constexpr std::int64_t rows_of_unit = 512;

/// Tiles of 64 tokens, cut anew at the beginning of each written range.
class Tiles {
 public:
  explicit Tiles(const std::vector<TokenRange>& ranges) {
    for (const TokenRange& range : ranges) {
      for (std::int64_t begin = range.begin; begin < range.end; begin += key_tile) {
        begins_.push_back(static_cast<std::int32_t>(begin));
        ends_.push_back(
            static_cast<std::int32_t>(std::min<std::int64_t>(begin + key_tile, range.end)));
      }
    }
  }

  [[nodiscard]] std::size_t size() const { return begins_.size(); }
  [[nodiscard]] std::int32_t begin(std::size_t tile) const { return begins_[tile]; }
  [[nodiscard]] std::int32_t end(std::size_t tile) const { return ends_[tile]; }
  /// The first tile that ends behind `token`.
  [[nodiscard]] std::size_t first_behind(std::int32_t token) const {
    return static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), token) -
                                    ends_.begin());
  }

 private:
  std::vector<std::int32_t> begins_, ends_;
};

struct Found {
  std::size_t tile = 0;
  std::int32_t group = 0;  // of heads
  KeyPart part;
};

class KeyCut {
 public:
  KeyCut(const AttentionPlan& plan, const std::vector<TokenRange>& written, Lists& lists)
      : plan_(plan), lists_(lists), tiles_(written) {}

  /// Returns the rows of the workspace that the sums take.
  std::int64_t cut() {
    find_parts();
    const auto groups = static_cast<std::size_t>(lists_.heads / lists_.heads_per_unit);
    // By tile, then group of heads, then in the plan's order: the order of every sum.
    std::stable_sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) {
      return a.tile != b.tile ? a.tile < b.tile : a.group < b.group;
    });
    auto next = found_.cbegin();
    for (std::size_t tile = 0; tile < tiles_.size(); ++tile) {
      for (std::size_t group = 0; group < groups; ++group) {
        const auto first = next;
        while (next != found_.cend() && next->tile == tile &&
               next->group == static_cast<std::int32_t>(group)) {
          ++next;
        }
        add_units(tile, static_cast<std::int32_t>(group) * lists_.heads_per_unit, {first, next});
      }
    }
    return partial_rows_;
  }

 private:
  void find_parts() {
    std::int64_t before = 0;
    for (const Task& task : plan_.tasks) {
      const std::int64_t rows = task.queries.size();
      std::int64_t columns = 0;
      for (std::int64_t s = 0; s < task.segment_count; ++s) columns += rule(task, s).width;
      if (rows == 0) continue;
      std::int64_t column = 0;
      for (std::int64_t s = 0; s < task.segment_count; ++s) {
        KeyPart part{.first_score = before + column,
                     .head_stride = rows * columns,
                     .rows = {.begin = static_cast<std::int32_t>(task.queries.begin),
                              .count = static_cast<std::int32_t>(rows),
                              .listed = task.queries.listed ? 1 : 0},
                     .columns = static_cast<std::int32_t>(columns),
                     .rule = static_cast<std::int32_t>(task.first_segment + s)};
        if (rule(task, s).width > 0) find_parts(task, part);
        column += rule(task, s).width;
      }
      before += rows * columns * (task.heads.end - task.heads.begin);
    }
  }

  /// Of one segment; `whole` has all rows.
  void find_parts(const Task& task, const KeyPart& whole) {
    const Rule& rule = lists_.rules[static_cast<std::size_t>(whole.rule)];
    const std::int32_t first = std::max(rule.begin, origin(whole, 0));
    const std::int32_t last = std::min(rule.end, origin(whole, whole.rows.count - 1) + rule.width);
    if (first >= last) return;
    const std::int32_t last_token = token_of(rule, last - 1);
    for (std::size_t tile = tiles_.first_behind(token_of(rule, first));
         tile < tiles_.size() && tiles_.begin(tile) <= last_token; ++tile) {
      const std::int32_t begin = std::max(first, place_from(rule, tiles_.begin(tile)));
      const std::int32_t end = std::min(last, place_from(rule, tiles_.end(tile)));
      if (begin >= end) continue;
      const std::int32_t low = first_row(whole, begin - rule.width + 1);
      const std::int32_t high = first_row(whole, end);
      if (low >= high) continue;
      KeyPart part = whole;
      part.first_score += std::int64_t{low} * whole.columns;
      part.rows.begin += low;
      part.rows.count = high - low;
      add_to_groups(task, tile, part);
    }
  }

  void add_to_groups(const Task& task, std::size_t tile, KeyPart part) {
    const std::int32_t heads = lists_.heads_per_unit;
    for (std::int32_t head = task.heads.begin; head < task.heads.end; head += heads) {
      found_.push_back({.tile = tile, .group = head / heads, .part = part});
      part.first_score += heads * part.head_stride;
    }
  }

  void add_units(std::size_t tile, std::int32_t head, std::span<const Found> found) {
    KeyUnit unit{.begin = tiles_.begin(tile),
                 .count = tiles_.end(tile) - tiles_.begin(tile),
                 .first_head = head,
                 .first_part = static_cast<std::int32_t>(lists_.parts.size())};
    std::int64_t rows = 0;
    for (const Found& f : found) rows += f.part.rows.count;
    if (rows <= rows_of_unit * 3 / 2) {
      unit.parts = static_cast<std::int32_t>(found.size());
      for (const Found& f : found) lists_.parts.push_back(f.part);
      lists_.key_units.push_back(unit);
      return;
    }
    cut_rows(unit, found);
  }

  /// Units of 512 rows each, whose sums are merged.
  void cut_rows(KeyUnit unit, std::span<const Found> found) {
    const std::int64_t first = partial_rows_;
    std::int32_t parts = 0;
    std::int64_t room = 0;
    for (const Found& f : found) {
      KeyPart rest = f.part;
      while (rest.rows.count > 0) {
        if (room == 0) {
          room = rows_of_unit;
          unit.first_part = static_cast<std::int32_t>(lists_.parts.size());
          unit.parts = 0;
          unit.partial = static_cast<std::int32_t>(partial_rows_);
          lists_.key_units.push_back(unit);
          partial_rows_ += unit.count;
          ++parts;
        }
        KeyPart piece = rest;
        piece.rows.count = static_cast<std::int32_t>(std::min<std::int64_t>(rest.rows.count, room));
        lists_.parts.push_back(piece);
        ++lists_.key_units.back().parts;
        room -= piece.rows.count;
        rest.rows.begin += piece.rows.count;
        rest.rows.count -= piece.rows.count;
        rest.first_score += std::int64_t{piece.rows.count} * rest.columns;
      }
    }
    for (std::int32_t r = 0; r < unit.count; r += merged_rows) {
      lists_.key_merges.push_back(
          {.rows = {.begin = unit.begin + r, .count = std::min(merged_rows, unit.count - r)},
           .first_head = unit.first_head,
           .first = static_cast<std::int32_t>(first) + r,
           .stride = unit.count,
           .parts = parts});
    }
  }

  [[nodiscard]] const Rule& rule(const Task& task, std::int64_t s) const {
    return lists_.rules[static_cast<std::size_t>(task.first_segment + s)];
  }
  [[nodiscard]] std::int32_t token_of(const Rule& rule, std::int32_t place) const {
    return rule.listed != 0 ? lists_.indices[static_cast<std::size_t>(place)] : place;
  }
  /// The first place whose token is `token` or a later one.
  [[nodiscard]] std::int32_t place_from(const Rule& rule, std::int32_t token) const {
    if (rule.listed == 0) return token;
    const auto begin = lists_.indices.begin();
    return static_cast<std::int32_t>(std::lower_bound(begin + rule.begin, begin + rule.end, token) -
                                     begin);
  }
  [[nodiscard]] std::int32_t origin(const KeyPart& part, std::int32_t row) const {
    const std::int32_t place = part.rows.begin + row;
    return origin_of(
        lists_.rules[static_cast<std::size_t>(part.rule)],
        part.rows.listed != 0 ? lists_.indices[static_cast<std::size_t>(place)] : place);
  }
  /// The first row whose columns start at `place` or later; origins ascend.
  [[nodiscard]] std::int32_t first_row(const KeyPart& part, std::int32_t place) const {
    std::int32_t low = 0, high = part.rows.count;
    while (low < high) {
      const std::int32_t middle = low + (high - low) / 2;
      if (origin(part, middle) >= place) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  const AttentionPlan& plan_;
  Lists& lists_;
  Tiles tiles_;
  std::vector<Found> found_;
  std::int64_t partial_rows_ = 0;
};

}  // namespace

Status cut_keys(const AttentionPlan& plan, const std::vector<TokenRange>& written, Lists& lists) {
  const std::int64_t partial_rows = KeyCut(plan, written, lists).cut();
  if (partial_rows > std::numeric_limits<std::int32_t>::max()) {
    return fail("This plan has too many rows and keys for the GPU's grid; make the batch smaller");
  }
  // Sums of rows and of keys are never there at the same time.
  lists.partial_rows = std::max(lists.partial_rows, partial_rows);
  return {};
}

}  // namespace attnscope::cuda::windowed
