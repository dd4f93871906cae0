#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Everything that is known of how a run was measured, for a person and as JSON: machine, build,
// settings, restarts, ceilings before and after, and what to know before trusting its numbers.
//
//   Result<RunDescription> description = describe(store, run);
//   fmt::print("{}", write_description(*description));

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/report/table.h"

namespace attnscope::report {

struct RunDescription {
  RunInfo run;
  std::vector<Restart> restarts;
  std::vector<Ceilings> ceilings;  // in the order they were measured
  std::vector<Row> rows;           // of every cell
};

[[nodiscard]] Result<RunDescription> describe(const Store& store, const RunInfo& run);

/// One sentence for everything that speaks against the run's numbers or makes them compare badly:
/// damage, heats that are missing, modified or unoptimised builds, a governor that changes clocks,
/// more threads than cores, restarts elsewhere, cells cut off by their time limit, disturbed,
/// throttled or drifting ones, ceilings that moved. Empty: nothing is known against them.
[[nodiscard]] std::vector<std::string> cautions(const RunDescription& description);
/// What stands there instead.
inline constexpr std::string_view nothing_known_against_it = "nothing is known against them";

/// What is known of a run under one title, each fact with its label; "" of the run itself.
struct DescribedPart {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;
};
/// The run, its machine and its build, as write_description has them: everything but the cautions
/// and the sweep's text.
[[nodiscard]] std::vector<DescribedPart> described_parts(const RunDescription& description);

[[nodiscard]] std::string write_description(const RunDescription& description);
/// An object; `provenance` is as stored, with the plan of the run.
[[nodiscard]] std::string write_description_json(const RunDescription& description);

}  // namespace attnscope::report
