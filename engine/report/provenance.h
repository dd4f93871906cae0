#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The provenance of a run's numbers: one line for every export, the differences between the
// conditions of two runs, and where the heats were measured if the run's first start does not
// determine it: on several machines, or by tasks of a cluster. A heat, and therefore its ratios,
// belongs to one machine; comparisons of numbers across machines are marked as such.
//
//   Result<RunInfo> known = with_machines(store, run);  // device: "2 machines: n1 (...), n2 (...)"
//   for (const Machine& machine : machines_in(*known)) ...

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/store/store.h"

namespace attnscope::report {

/// The stored provenance; a discarded value if it is not valid JSON.
[[nodiscard]] nlohmann::json provenance_of(const RunInfo& run);
/// The value at a JSON pointer such as "/device/name", else null.
[[nodiscard]] nlohmann::json provenance_at(const nlohmann::json& provenance,
                                           const std::string& pointer);

/// One line of provenance for table footers and figure metadata; `disturbed` states how many of its
/// cells were disturbed. It ends with the command that repeats the run, and with any damage to the
/// run.
[[nodiscard]] std::string provenance_line(const RunInfo& run, std::string_view disturbed = {});

/// Damaged or missing parts of the run itself, as found by find_run; damage to cells is reported
/// with the cells.
[[nodiscard]] std::vector<std::string> damage_in_words(const RunInfo& run);

/// The end of a difference that may be none.
inline constexpr std::string_view no_commit_identifies = "which no commit identifies";
/// One sentence for each difference in the runs' provenance ("governor: powersave in A, performance
/// in B"), in the order of the list in the source. A value that one run lacks is not a difference.
/// Empty if no difference is known.
[[nodiscard]] std::vector<std::string> differences(const RunInfo& a, const RunInfo& b);

struct Machine {
  std::string name;              // "node7 (AMD EPYC 7B13)"
  std::string device;            // "AMD EPYC 7B13"
  std::set<std::int64_t> heats;  // numbers of the heats measured on it
};

/// The run with all its machines: in words as its device, and in its provenance under "machines";
/// values missing in its first start are those of the first machine. Unchanged if one start, or one
/// machine, measured everything.
[[nodiscard]] Result<RunInfo> with_machines(const Store& store, const RunInfo& run);

/// The machines of a run returned by with_machines, in the order of their first heats; else empty.
[[nodiscard]] std::vector<Machine> machines_in(const RunInfo& run);

/// Whether there are several machines with different devices, so that their ceilings may differ.
[[nodiscard]] bool are_unlike(const std::vector<Machine>& machines);

/// Cautions about the machines, one sentence each. Empty for fewer than two.
[[nodiscard]] std::vector<std::string> cautions_of_machines(const RunInfo& run);

}  // namespace attnscope::report
