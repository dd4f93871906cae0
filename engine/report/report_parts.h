#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Parts of the other formats that a report page reuses, so that the texts agree.

#include <string>

#include "engine/report/answer.h"
#include "engine/report/sheet.h"
#include "engine/report/table.h"

namespace attnscope::report {

/// The sheet that write_table writes for people: a block for each point, its notes below.
[[nodiscard]] Sheet sheet_of(const Table& table);

/// "256 tokens: Sparse, fused, w = 4 is fastest, with no difference shown to ..."
[[nodiscard]] std::string sentence_of(const Ranking& ranking);

}  // namespace attnscope::report
