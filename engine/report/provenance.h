#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The provenance of a run's numbers: one line for every export, and the differences between the
// conditions of two runs.

#include <nlohmann/json_fwd.hpp>
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

/// One sentence for each difference in the runs' provenance ("governor: powersave in A, performance
/// in B"), in the order of the list in the source. A value that one run lacks is not a difference.
/// Empty if no difference is known.
[[nodiscard]] std::vector<std::string> differences(const RunInfo& a, const RunInfo& b);

}  // namespace attnscope::report
