#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The command line that measures one cell of a stored run once more.

#include <optional>
#include <string>

#include "engine/report/table.h"

namespace attnscope::report {

struct RepeatCommand {
  std::string text;
  // A contender's id or an axis that --only has no words for: then more than the cell is measured.
  std::string beyond;  // a sentence, or empty
};

/// `attnscope run --again RUN --only ...`: the run by its UUID, of the axes only those that tell
/// the cell's heat from others of the run. `beside` is measured in the same heat, so that the ratio
/// of the two is paired.
[[nodiscard]] RepeatCommand repeat_command(const Table& table, const Row& row,
                                           std::optional<std::string> beside);

}  // namespace attnscope::report
