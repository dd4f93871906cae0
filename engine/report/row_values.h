#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The named values of a row: its axes, which tables vary or state in titles, and its columns.

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/heat/axes.h"
#include "engine/report/row.h"
#include "engine/report/sheet.h"

namespace attnscope::report {

// The named axes of a heat's point: which of them a table varies, and the others as a title.

struct AxisValue {
  std::string_view key;  // in the form that --only accepts
  std::string value;     // in the form that --only accepts
  std::string words;     // "4096 tokens"; empty for a default that is not stated
};

/// Every axis, in the order of titles; the same order for every point.
[[nodiscard]] std::vector<AxisValue> axes_of(const HeatPoint& point);

/// A value as shown next to its axis title: "512 tokens", "up to 16", "shared".
[[nodiscard]] std::string words_next_to_title(const Axis& axis, const std::string& value);

/// The key of a contender's window where it is used like an axis.
inline constexpr std::string_view window_key = "window";

/// The index of an axis in heat_axes and in axes_of.
constexpr std::size_t place_of_axis(std::string_view key) {
  std::size_t place = 0;
  while (heat_axes.at(place).key != key) ++place;
  return place;
}
/// The length is part of a block's title even if there is only one.
inline constexpr std::size_t length_axis = place_of_axis("sequence_tokens");
inline constexpr std::size_t document_lengths_axis = place_of_axis("document_lengths");
inline constexpr std::size_t stage_axis = place_of_axis("stage");
inline constexpr std::size_t candidates_axis = place_of_axis("candidates");
/// The axes in which the whole models of a paper's table differ: each has its own size and longest
/// document.
inline constexpr std::array axes_of_size{length_axis,
                                         document_lengths_axis,
                                         place_of_axis("layers"),
                                         place_of_axis("heads"),
                                         place_of_axis("head_dim"),
                                         place_of_axis("feed_forward")};

/// The order of a table's blocks: lengths of one setting are adjacent, ascending.
[[nodiscard]] bool comes_before(const HeatPoint& a, const HeatPoint& b);

/// Which axes (by index in axes_of) have more than one value among the rows.
[[nodiscard]] std::vector<bool> varying_axes(const std::vector<const Row*>& rows);
[[nodiscard]] std::vector<bool> varying_axes(const std::vector<Row>& rows);

/// Whether sequences of one length always have documents of one kind: of equal length, or drawn
/// from the same distribution. Then the length alone distinguishes rows that differ in both.
[[nodiscard]] bool length_identifies_documents(const std::vector<const Row*>& rows);

/// The value of one axis, as words_of prints it when the axis varies: "4096 tokens", "seed 2".
[[nodiscard]] std::string words_of(const AxisValue& axis);

/// Words for the axes that vary (or for those that do not), joined by ", ".
[[nodiscard]] std::string words_of(const HeatPoint& point, const std::vector<bool>& varying,
                                   bool wanted);

// The columns of a row, in one list for JSON, CSV and --only: a new column is one line.

struct Column {
  std::string_view key;
  Value (*value)(const Row& row);
};

/// The table's columns; ratio columns are present only with a baseline, growth columns only if
/// growth was added.
[[nodiscard]] std::vector<Column> columns(const Table& table);

/// The keys of --only: the values that identify rows, not the measured ones.
[[nodiscard]] std::span<const std::string_view> filter_keys();
/// Every word that --only accepts for the row's value of a filter key.
[[nodiscard]] std::vector<std::string> filter_words(const Row& row, std::string_view key);
/// The row's value of a filter key, as a heading: "w = 4", "no window", "256 tokens", "batch 16".
[[nodiscard]] std::string value_in_words(const Row& row, std::string_view key);

}  // namespace attnscope::report
