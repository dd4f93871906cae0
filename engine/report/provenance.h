#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where a run's numbers come from: one line of it for every export, and what was not alike when two
// runs were measured.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "engine/store/store.h"

namespace attnscope::report {

/// What the run stored; discarded where that is no JSON.
[[nodiscard]] nlohmann::json provenance_of(const RunInfo& run);
/// What is at "/device/name", else null.
[[nodiscard]] nlohmann::json provenance_at(const nlohmann::json& provenance,
                                           const std::string& pointer);

/// One line of provenance for table footers and figure metadata; `disturbed` says how many of its
/// cells were. It ends in the command that repeats the run, and what of it is damaged.
[[nodiscard]] std::string provenance_line(const RunInfo& run, std::string_view disturbed = {});

/// What of the run itself is damaged or missing, as far as find_run looked; that of cells stands
/// with them.
[[nodiscard]] std::vector<std::string> damage_in_words(const RunInfo& run);

/// One sentence for each difference that the runs' provenance shows ("governor: powersave in A,
/// performance in B"), in the order of the list in the source. What one of them does not tell is
/// no difference. Empty: none is known.
[[nodiscard]] std::vector<std::string> differences(const RunInfo& a, const RunInfo& b);

}  // namespace attnscope::report
