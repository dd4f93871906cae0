#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The metadata of a re-ranked run, as engine/effectiveness/trec_files.h writes them.

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/effectiveness/energy.h"
#include "engine/ranking/passages.h"
#include "engine/ranking/scoring_model.h"
#include "engine/worker/machine_messages.h"

namespace attnscope {

struct RunFacts {
  std::string command_line, tag, implementation;
  std::string first_stage, first_tag;  // the run that is re-ranked
  std::string queries, documents;      // files
  std::int64_t depth = 0;
  LongDocuments long_documents = LongDocuments::first_p;
};

/// The known metadata of all six parts; `hello` is the worker's greeting.
[[nodiscard]] nlohmann::ordered_json run_metadata(const RunFacts& facts,
                                                  const ModelQuestion& requested,
                                                  const ScoringModel& model,
                                                  const protocol::Hello& hello);
[[nodiscard]] nlohmann::ordered_json run_resources(std::chrono::steady_clock::duration time,
                                                   const effectiveness::Energy& energy);

}  // namespace attnscope
