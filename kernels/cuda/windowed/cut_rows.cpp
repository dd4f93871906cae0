// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <limits>

#include "kernels/cuda/windowed/lists.h"

namespace attnscope::cuda::windowed {
namespace {

/// Places of a unit for each strip of its rows: a warp's work is then at most some 1,500 keys.
constexpr std::int64_t places_of_strip = 1024;

/// A list of so many takes 4 GB; their scores would take terabytes.
constexpr std::size_t most_units = std::size_t{1} << 26;

std::int32_t token_at(const Lists& lists, const Run& run, std::int32_t row) {
  return run.listed != 0 ? lists.indices[static_cast<std::size_t>(run.begin + row)]
                         : run.begin + row;
}

/// A task's rows as they are cut.
class TaskRows {
 public:
  TaskRows(const AttentionPlan& plan, const Task& task, std::int64_t first_score,
           std::int64_t columns, Lists& lists)
      : plan_(plan), task_(task), first_score_(first_score), columns_(columns), lists_(lists) {}

  void cut() {
    const std::int32_t tile = tile_rows(lists_.head_dim, lists_.dtype);
    const auto size = static_cast<std::int32_t>(task_.queries.size());
    for (std::int32_t row = 0; row < size; row += tile) {
      const Run rows{.begin = static_cast<std::int32_t>(task_.queries.begin) + row,
                     .count = std::min(tile, size - row),
                     .listed = task_.queries.listed ? 1 : 0};
      const std::vector<Span> spans = spans_of(rows);
      for (std::int32_t head = task_.heads.begin; head < task_.heads.end;
           head += lists_.heads_per_unit) {
        add_units(rows, row, head, spans);
      }
    }
  }

 private:
  std::vector<Span> spans_of(const Run& rows) const {
    std::vector<Span> spans;
    std::int32_t column = 0;
    for (std::int64_t s = 0; s < task_.segment_count; ++s) {
      const auto number = static_cast<std::int32_t>(task_.first_segment + s);
      const Rule& rule = lists_.rules[static_cast<std::size_t>(number)];
      if (rule.width == 0) continue;
      spans.push_back(
          {.rule = number,
           .first_column = column,
           .begin = origin_of(rule, token_at(lists_, rows, 0)),
           .end = origin_of(rule, token_at(lists_, rows, rows.count - 1)) + rule.width});
      column += rule.width;
    }
    return spans;
  }

  void add_units(const Run& rows, std::int32_t row, std::int32_t head,
                 const std::vector<Span>& spans) {
    const std::int64_t stride = task_.queries.size() * columns_;
    RowUnit unit{.first_score = first_score_ + (head - task_.heads.begin) * stride + row * columns_,
                 .head_stride = stride,
                 .rows = rows,
                 .columns = static_cast<std::int32_t>(columns_),
                 .first_head = head};
    std::int64_t places = 0;
    for (const Span& span : spans) places += std::int64_t{span.end} - span.begin;
    const std::int64_t most = places_of_strip * ((rows.count + strip_rows - 1) / strip_rows);
    if (places <= most * 3 / 2) {
      unit.first_span = static_cast<std::int32_t>(lists_.spans.size());
      unit.spans = static_cast<std::int32_t>(spans.size());
      lists_.spans.insert(lists_.spans.end(), spans.begin(), spans.end());
      lists_.row_units.push_back(unit);
      return;
    }
    const std::int64_t parts = (places + most - 1) / most;
    cut_places((places / parts + key_tile) / key_tile * key_tile, unit, spans);
  }

  /// Units of `most` places each, whose sums are merged.
  void cut_places(std::int64_t most, RowUnit unit, const std::vector<Span>& spans) {
    const std::int64_t first = lists_.partial_rows;
    std::int32_t parts = 0;
    std::int64_t room = 0;
    for (Span rest : spans) {
      while (rest.begin < rest.end) {
        if (room == 0) {
          room = most;
          unit.first_span = static_cast<std::int32_t>(lists_.spans.size());
          unit.spans = 0;
          unit.partial = static_cast<std::int32_t>(lists_.partial_rows);
          unit.first_of_rows = parts == 0 ? 1 : 0;
          lists_.row_units.push_back(unit);
          lists_.partial_rows += unit.rows.count;
          ++parts;
        }
        Span piece = rest;
        piece.end = static_cast<std::int32_t>(
            std::min<std::int64_t>(rest.end, std::int64_t{rest.begin} + room));
        lists_.spans.push_back(piece);
        ++lists_.row_units.back().spans;
        room -= piece.end - piece.begin;
        rest.begin = piece.end;
      }
    }
    for (std::int32_t r = 0; r < unit.rows.count; r += merged_rows) {
      lists_.row_merges.push_back({.rows = {.begin = unit.rows.begin + r,
                                            .count = std::min(merged_rows, unit.rows.count - r),
                                            .listed = unit.rows.listed},
                                   .first_head = unit.first_head,
                                   .first = static_cast<std::int32_t>(first) + r,
                                   .stride = unit.rows.count,
                                   .parts = parts});
    }
  }

  const AttentionPlan& plan_;
  const Task& task_;
  std::int64_t first_score_, columns_;
  Lists& lists_;
};

}  // namespace

Status cut_rows(const AttentionPlan& plan, Lists& lists) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  std::int64_t first_score = 0;
  for (const Task& task : plan.tasks) {
    std::int64_t columns = 0;
    for (std::int64_t s = 0; s < task.segment_count; ++s) {
      columns += lists.rules[static_cast<std::size_t>(task.first_segment + s)].width;
    }
    const std::int64_t rows = task.queries.size();
    if (rows == 0) continue;
    if (columns > most) {
      return fail(
          "The score matrices of this plan have rows of {} floats, too many for the GPU's grid; "
          "use "
          "a smaller window or an infinite one",
          columns);
    }
    TaskRows(plan, task, first_score, columns, lists).cut();
    if (lists.partial_rows > most || lists.row_units.size() > most_units) {
      return fail(
          "The score matrices of this plan are too large for the GPU's grid; make the batch "
          "smaller");
    }
    first_score += rows * (task.heads.end - task.heads.begin) * columns;
  }
  lists.score_elements = first_score;
  return {};
}

}  // namespace attnscope::cuda::windowed
