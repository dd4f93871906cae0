#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A table's cells arranged along two axes, in the form of the ECIR 2024 paper's Table 3: contenders
// by lengths, or any two keys of --only, with time, memory or another quantity in the cells and its
// difference to the baseline. The remaining axes form blocks.
//
//   Result<Pivot> pivot = make_pivot(table, {.rows = "contender", .columns = "sequence_tokens"});
//   write_pivot(table, *pivot, TableFormat::latex);

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/report/table.h"

namespace attnscope::report {

enum class Quantity : std::uint8_t {
  time,
  memory,
  ratio,
  limit,
  error,
  executed,
  per_ms,
  effectiveness
};
[[nodiscard]] std::string_view name_of(Quantity quantity);
/// "time,memory": each quantity is a line in each row.
[[nodiscard]] Result<std::vector<Quantity>> parse_quantities(std::string_view text);
/// A key of --only, or "length" for sequence_tokens; `option` is named in the error.
[[nodiscard]] Result<std::string> parse_pivot_key(std::string_view option, std::string_view text);

struct PivotChoice {
  std::string rows = "contender", columns = "sequence_tokens";  // keys of --only
  std::vector<Quantity> cells = {Quantity::time};
  friend bool operator==(const PivotChoice&, const PivotChoice&) = default;
};

/// One value of the row or column key. If windows are the other key, or part of the blocks, a
/// contender stands for all its windows.
struct PivotHead {
  std::string value;              // in the form that --only accepts
  std::string words;              // "64 tokens", "w = 4", the contender's name
  std::string contender, window;  // for contenders: name and window separately
  bool is_baseline = false;
};

struct PivotCell {
  std::optional<std::size_t> row;  // index in the table; empty: nothing was planned there
  std::string text;                // "2.41 ms (-43 %)", "oom", "2.41 ms (no difference shown)"
  std::string difference = {};     // the text in parentheses
  std::string marks = {};          // for a time: "~!"
  // The plain number (ns or bytes per document, a ratio, a share, an error), if there is one, and
  // for memory its ratio to the baseline's. `ratio` has the interval for time and ratio.
  std::optional<double> value, memory_ratio;
  std::optional<statistics::Ratio> ratio;
  bool is_baseline = false;
};

struct PivotLine {
  std::size_t head = 0;  // index in Pivot::rows
  Quantity quantity = Quantity::time;
  std::vector<PivotCell> cells;  // one for each of Pivot::columns
};

struct PivotBlock {
  std::string words;  // for the axis values of this block: "float16, query 10"
  std::vector<PivotLine> lines;
};

struct Pivot {
  PivotChoice choice;
  std::string title;  // words for the axes that all cells share
  std::vector<PivotHead> rows, columns;
  std::vector<PivotBlock> blocks;
};

/// The label of a line of this quantity: "time/doc".
[[nodiscard]] std::string_view short_name(Quantity quantity);
/// "sparse/segment/4 (baseline)".
[[nodiscard]] std::string head_words(const PivotHead& head);

/// Uses the rows for which `keeps` returns true, or all if it is empty. An error if both keys are
/// the same.
[[nodiscard]] Result<Pivot> make_pivot(const Table& table, const PivotChoice& choice,
                                       const std::function<bool(const Row&)>& keeps = {});

/// Text and Markdown are formatted for people, LaTeX uses booktabs and a rule before each block;
/// CSV has the plain numbers in the same grid, JSON one object per cell, both with the units of
/// table rows.
[[nodiscard]] std::string write_pivot(const Table& table, const Pivot& pivot, TableFormat format);

}  // namespace attnscope::report
