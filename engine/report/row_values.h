#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The columns of a row, one list for JSON, CSV and --only: adding a column is one line.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/report/table.h"

namespace attnscope::report {

/// Nothing (null in JSON, empty in CSV) or a value.
using Value = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string>;

struct Column {
  std::string_view key;
  Value (*value)(const Row& row);
};

/// The table's columns: those of ratios are there only against a baseline, those of growth only
/// where it was added.
[[nodiscard]] std::vector<Column> columns(const Table& table);

/// As in CSV; nothing is "". Doubles are written so that reading them gives the same number.
[[nodiscard]] std::string text_of(const Value& value);

/// The keys of --only: what tells rows apart, not what was measured.
[[nodiscard]] std::span<const std::string_view> filter_keys();
/// Every word by which --only may name the row's value of a filter key.
[[nodiscard]] std::vector<std::string> filter_words(const Row& row, std::string_view key);

}  // namespace attnscope::report
