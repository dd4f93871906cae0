#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where a run's heats were measured, if its first start does not determine it: on several machines,
// or by tasks of a cluster. A heat, and therefore its ratios, belongs to one machine; comparisons
// of numbers across machines are marked as such.
//
//   Result<RunInfo> known = with_machines(store, run);  // device: "2 machines: n1 (...), n2 (...)"
//   for (const Machine& machine : machines_in(*known)) ...

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "engine/store/store.h"

namespace attnscope::report {

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
