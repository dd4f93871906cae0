#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A chart shows one value of every axis that it does not draw. Which axes of a table have several,
// what of them is chosen, and which other values were measured together with that choice.
//
//   Slice slice = find_slice(table, {"sequence_tokens"}, {.values = {{"dtype", "float16"}}});
//   for (const Row& row : table.rows) if (is_in(slice, row)) ...

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/report/table.h"

namespace attnscope::report {

/// "Length" of sequence_tokens, "Dtype" of dtype; the key itself where it has no other name.
[[nodiscard]] std::string axis_name(std::string_view key);

struct SliceValue {
  std::string value;     // as --only takes it; empty: all of them (windows)
  std::string words;     // beside the axis' name: "512", "up to 16", "float16"
  bool together = true;  // measured with the values chosen on the other axes
  friend bool operator==(const SliceValue&, const SliceValue&) = default;
};

/// One axis with more than one value.
struct SliceAxis {
  std::string key;  // as in axes_of, or "window"
  std::string name;
  std::vector<SliceValue> values;  // numbers ascending, words as the table has them
  std::size_t chosen = 0;
  friend bool operator==(const SliceAxis&, const SliceAxis&) = default;
};

struct Slice {
  std::vector<SliceAxis> axes;
  std::string moved;  // a sentence where not all that was wished for was measured together
};

/// What a person wants to see, by axis; what the table does not have is passed over.
struct SliceWish {
  std::map<std::string, std::string, std::less<>> values = {};
  std::string first = {};  // the axis chosen last: the others give way to it
  friend bool operator==(const SliceWish&, const SliceWish&) = default;
};

/// `drawn` are the keys that a chart draws, along x or as panels: they are in no slice. Where the
/// wish was not measured as a whole, the nearest combination that was is taken. Windows may be
/// chosen too, but stand together in a chart unless one is.
[[nodiscard]] Slice find_slice(const Table& table, std::span<const std::string_view> drawn,
                               const SliceWish& wish);
/// Rows without a window are in every window's slice. An axis in `free` may have any value.
[[nodiscard]] bool is_in(const Slice& slice, const Row& row,
                         std::span<const std::string_view> free = {});

/// Axes that a table has several values of, windows and what tells contenders apart included: what
/// panels can be made of.
[[nodiscard]] std::vector<std::string> varying_keys(const Table& table);

/// In place: numbers ascending with "none" before and "inf" behind them; words stay as they come.
void order_values(std::vector<std::string>& values);

}  // namespace attnscope::report
