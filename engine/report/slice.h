#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A chart shows one value of every axis that it does not draw. A slice lists the axes of a table
// with several values, the chosen values, and the other values that were measured together with
// that choice.
//
//   Slice slice = find_slice(table, {"sequence_tokens"}, {.values = {{"dtype", "float16"}}});
//   for (const Row& row : table.rows) if (is_in(slice, row)) ...

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/report/row.h"

namespace attnscope::report {

/// "Length" for sequence_tokens, "Dtype" for dtype; the key itself if it has no other name.
[[nodiscard]] std::string axis_name(std::string_view key);

struct SliceValue {
  std::string value;     // in the form that --only accepts; empty: all of them (windows)
  std::string words;     // shown next to the axis' name: "512", "up to 16", "float16"
  bool together = true;  // measured with the values chosen on the other axes
  friend bool operator==(const SliceValue&, const SliceValue&) = default;
};

/// One axis with more than one value.
struct SliceAxis {
  std::string key;  // as in axes_of, or "window"
  std::string name;
  std::vector<SliceValue> values;  // numbers ascending, words in the table's order
  std::size_t chosen = 0;
  friend bool operator==(const SliceAxis&, const SliceAxis&) = default;
};

struct Slice {
  std::vector<SliceAxis> axes;
  std::string moved;  // a sentence if the wished values were not all measured together
};

/// The values that the user wants to see, by axis; values that the table lacks are ignored.
struct SliceWish {
  std::map<std::string, std::string, std::less<>> values = {};
  std::string first = {};  // the axis chosen last; it takes precedence over the others
  friend bool operator==(const SliceWish&, const SliceWish&) = default;
};

/// `drawn` are the keys that a chart draws, along x or as panels; they are not part of the slice.
/// If the wished combination was not measured, the nearest measured one is used. Windows may be
/// chosen too, but are shown together in a chart by default.
[[nodiscard]] Slice find_slice(const Table& table, std::span<const std::string_view> drawn,
                               const SliceWish& wish);
/// Whether the row is in the slice; rows without a window are in every window's slice. An axis in
/// `free` may have any value.
[[nodiscard]] bool is_in(const Slice& slice, const Row& row,
                         std::span<const std::string_view> free = {});

/// Axes with several values in a table, including windows and what distinguishes contenders: the
/// possible panel keys.
[[nodiscard]] std::vector<std::string> varying_keys(const Table& table);

/// Sorts in place: numbers ascending, with "none" before and "inf" after them; words keep their
/// order.
void order_values(std::vector<std::string>& values);

}  // namespace attnscope::report
