#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a page that reports a run takes from its other forms, so that all of them say the same.

#include <string>

#include "engine/report/answer.h"
#include "engine/report/sheet.h"
#include "engine/report/table.h"

namespace attnscope::report {

/// What write_table writes for people: a block for each point, its notes below.
[[nodiscard]] Sheet sheet_of(const Table& table);

/// "256 tokens: Sparse, fused, w = 4 is fastest, with no difference shown to ..."
[[nodiscard]] std::string sentence_of(const Ranking& ranking);

}  // namespace attnscope::report
