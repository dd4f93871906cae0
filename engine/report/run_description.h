#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How a run was measured, and the command that repeats one of its cells.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/report/row.h"
#include "engine/report/table.h"

namespace attnscope::report {

// All information on how a run was measured, for people and as JSON: machine, build, settings,
// restarts, ceilings before and after, and cautions about its numbers.
//
//   Result<RunDescription> description = describe(store, run);
//   fmt::print("{}", write_description(*description));

struct RunDescription {
  RunInfo run;
  std::vector<Restart> restarts;
  std::vector<Ceilings> ceilings;  // in measurement order
  std::vector<Row> rows;           // all cells
};

[[nodiscard]] Result<RunDescription> describe(const Store& store, const RunInfo& run);

/// One sentence for each problem that makes the run's numbers unreliable or hard to compare:
/// damage, missing heats, modified or unoptimised builds, a governor that changes clocks, more
/// threads than cores, restarts elsewhere, cells cut off by their time limit, disturbed, throttled
/// or drifting cells, ceilings that changed. Empty if there is no known problem.
[[nodiscard]] std::vector<std::string> cautions(const RunDescription& description);
/// The text printed if there are no cautions.
inline constexpr std::string_view nothing_known_against_it = "no problems are known";

/// The facts about a run under one title, each with its label; the title is "" for the run itself.
struct DescribedPart {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;
};
/// The run, its machine and its build, as in write_description, without the cautions and the
/// sweep's text.
[[nodiscard]] std::vector<DescribedPart> described_parts(const RunDescription& description);

[[nodiscard]] std::string write_description(const RunDescription& description);
/// An object; `provenance` is as stored, including the plan of the run.
[[nodiscard]] std::string write_description_json(const RunDescription& description);

// The command line that repeats the measurement of one cell of a stored run.

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
