#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A cache of encoded documents, opened for scoring in this process and in the worker.

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/result.h"
#include "engine/documents/document_cache.h"
#include "engine/ranking/scoring_model.h"
#include "engine/worker/worker_process.h"

namespace attnscope {

struct OpenedCache {
  DocumentCache documents;
  std::string name;
  std::uintmax_t bytes = 0;  // size at the time of opening
  std::string note{};        // how its documents were cut, if the model cuts others

  /// The worker has the weights and checks whether the model encoded these documents. Errors: a
  /// model without a cache, documents without ids, another tokenizer or limit.
  [[nodiscard]] static Result<OpenedCache> open(const std::string& name,
                                                const ModelQuestion& question,
                                                const ScoringModel& model);
  [[nodiscard]] Status open_in(WorkerProcess& worker) const;
  /// A worker that reads past the end of a mapped file that was truncated dies without a message.
  /// Returns that cause in place of the worker's error.
  [[nodiscard]] Error explained(const Error& error) const;
};

}  // namespace attnscope
