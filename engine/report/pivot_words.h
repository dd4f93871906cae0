#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the forms of a pivot say alike.

#include <string>

#include "engine/report/pivot.h"

namespace attnscope::report {

/// "time/doc": beside a line of it.
[[nodiscard]] std::string_view short_name(Quantity quantity);
/// "time per document, in parentheses the difference to full/dense"; of all quantities shown.
[[nodiscard]] std::string quantities_in_words(const Table& table, const Pivot& pivot);
/// "sparse/segment/4 (baseline)".
[[nodiscard]] std::string head_words(const PivotHead& head);
/// The table's rows that the pivot shows, in its order, each once.
[[nodiscard]] std::vector<const Row*> rows_shown(const Table& table, const Pivot& pivot);

[[nodiscard]] std::string write_pivot_latex(const Table& table, const Pivot& pivot);

}  // namespace attnscope::report
