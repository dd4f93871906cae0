#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What was not alike when two runs were measured: machine, settings of the system, build. Their
// times may differ for that alone.

#include <string>
#include <vector>

#include "engine/store/store.h"

namespace attnscope::report {

/// One sentence for each difference that the runs' provenance shows ("governor: powersave in A,
/// performance in B"), in the order of the list in the source. What one of them does not tell is
/// no difference. Empty: none is known.
[[nodiscard]] std::vector<std::string> differences(const RunInfo& a, const RunInfo& b);

}  // namespace attnscope::report
