#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Words and differences as LaTeX takes them, shared by its tables.

#include <optional>
#include <string>
#include <string_view>

#include "engine/report/table.h"

namespace attnscope::report {

/// Every character that means something to LaTeX, as itself.
[[nodiscard]] std::string latex_escaped(std::string_view text);

/// " $(-43\,\%)$": a minus sign, not a hyphen. Empty without a ratio.
[[nodiscard]] std::string latex_difference(double ratio);

/// Under a table: what has to be known beside the row's numbers, or why it has none; a paragraph
/// each.
[[nodiscard]] std::string latex_notes(const Row& row);

}  // namespace attnscope::report
