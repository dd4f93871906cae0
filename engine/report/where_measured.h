#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where a run's heats were measured, when its first start does not tell: on several machines, or by
// tasks of a cluster. A heat is of one machine, and so are its ratios; what stands side by side of
// several machines is said to.
//
//   Result<RunInfo> known = with_machines(store, run);   // device: "2 machines: n1 (...), n2
//   (...)" for (const Machine& machine : machines_in(*known)) ...

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "engine/store/store.h"

namespace attnscope::report {

struct Machine {
  std::string name;              // "node7 (AMD EPYC 7B13)"
  std::string device;            // "AMD EPYC 7B13"
  std::set<std::int64_t> heats;  // numbers of those that it measured
};

/// The run with all its machines: in words as its device, and in its provenance under "machines";
/// for what its first start does not tell, that of the first machine stands. As it is where one
/// start, or one machine, measured everything.
[[nodiscard]] Result<RunInfo> with_machines(const Store& store, const RunInfo& run);

/// Those of a run that was given them, in the order of their first heats; else none.
[[nodiscard]] std::vector<Machine> machines_in(const RunInfo& run);

/// Whether there are several and not all of one device: what one can reach, another may not.
[[nodiscard]] bool are_unlike(const std::vector<Machine>& machines);

/// What has to be known of them: a sentence each. Nothing of fewer than two.
[[nodiscard]] std::vector<std::string> cautions_of_machines(const RunInfo& run);

}  // namespace attnscope::report
