#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One function for each form of a table; write_table chooses.

#include <string>

#include "engine/report/table.h"

namespace attnscope::report {

[[nodiscard]] std::string write_text(const Table& table);
[[nodiscard]] std::string write_markdown(const Table& table);
[[nodiscard]] std::string write_csv(const Table& table);
[[nodiscard]] std::string write_json(const Table& table);
[[nodiscard]] std::string write_latex(const Table& table);

/// A field as RFC 4180 wants it: quoted when it holds a comma, a quote or a line's end.
[[nodiscard]] std::string csv_field(std::string_view text);

/// "oom" with its reason, for cells that have no time; "damaged" likewise.
struct Outcome {
  std::string status, reason;
};
[[nodiscard]] Outcome outcome_of(const Row& row);

}  // namespace attnscope::report
