#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The command line that repeats the measurement of one cell of a stored run.

#include <optional>
#include <string>

#include "engine/report/row.h"

namespace attnscope::report {

struct RepeatCommand {
  std::string text;
  // If --only cannot express the contender's id or an axis, the command measures more than the
  // cell.
  std::string beyond;  // a sentence about that, or empty
};

/// `attnscope run --again RUN --only ...`: the run by its UUID, and only the axes that distinguish
/// the cell's heat from others of the run. `alongside` is measured in the same heat, so that the
/// ratio of the two is paired.
[[nodiscard]] RepeatCommand repeat_command(const Table& table, const Row& row,
                                           std::optional<std::string> alongside);

}  // namespace attnscope::report
