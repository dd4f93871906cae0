#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The columns of a row, one list for JSON, CSV and --only: adding a column is one line.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/report/table.h"

namespace attnscope::report {

struct Column {
  std::string_view key;
  Value (*value)(const Row& row);
};

/// The table's columns: those of ratios are there only against a baseline, those of growth only
/// where it was added.
[[nodiscard]] std::vector<Column> columns(const Table& table);

/// The keys of --only: what tells rows apart, not what was measured.
[[nodiscard]] std::span<const std::string_view> filter_keys();
/// Every word by which --only may name the row's value of a filter key.
[[nodiscard]] std::vector<std::string> filter_words(const Row& row, std::string_view key);

}  // namespace attnscope::report
