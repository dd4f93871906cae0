#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The columns of a row, in one list for JSON, CSV and --only: a new column is one line.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/report/row.h"
#include "engine/report/sheet.h"

namespace attnscope::report {

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

}  // namespace attnscope::report
