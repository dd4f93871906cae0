#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a dump (docs/attention-dumps.md) says of one pair, before anything is computed.

#include <map>
#include <string>

#include "engine/scoring/scoring_model.h"
#include "engine/text/word_piece.h"

namespace attnscope {

/// The texts of the dump's `__metadata__`.
[[nodiscard]] std::map<std::string, std::string> dump_metadata(const ScoringModel& model,
                                                               const TokenPair& pair,
                                                               const std::string& note);

}  // namespace attnscope
