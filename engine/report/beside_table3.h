#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A run of whole models in the form of the ECIR 2024 paper's Table 3, with the paper's numbers
// beside ours: time and memory per document in its units, each against the task's baseline. The
// paper's are of another machine, so nothing of ours is set in relation to them.
//
//   const Result<std::string> text = write_beside_table3(table, TableFormat::markdown);

#include <string>

#include "engine/report/table.h"

namespace attnscope::report {

/// The baseline of each task is the paper's (passages: full, documents: longformer, w = 64), in the
/// run's order the first contender that was measured, unless the table has one. An error when the
/// run has no models at the paper's lengths.
[[nodiscard]] Result<std::string> write_beside_table3(const Table& table, TableFormat format);

}  // namespace attnscope::report
