#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Scores texts with a worker as `score` does, for the timing commands `profile` and `latency`.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/ranking/score_batches.h"
#include "engine/ranking/scoring_model.h"
#include "engine/text/pair_reader.h"
#include "engine/worker/worker_process.h"

namespace CLI {
class App;
}  // namespace CLI

namespace attnscope::cli {

/// Adds --pairs, a file of texts.
void add_pairs_option(CLI::App& command, std::string& file);

/// Reads pairs of a file until `take` returns false. A file without pairs is an error.
[[nodiscard]] Status read_pairs(const std::string& file, const std::function<bool(TextPair)>& take);

class TextScorer {
 public:
  /// `file` is the source of the texts. With `on_parts`, each answer reports the times of the
  /// model's parts (docs/protocol.md, score), which are passed to it. The other arguments must
  /// outlive the scorer.
  TextScorer(std::string file, const ScoringModel& model, WorkerProcess& worker,
             const BatchLimits& limits, std::function<void(const nlohmann::json&)> on_parts = {});

  /// Errors name the file and this line.
  [[nodiscard]] Result<TokenPair> tokens_of(std::string_view query, std::string_view document,
                                            std::int64_t line) const;
  /// Sends the same batches as `score`, each as soon as fewer than `most_waiting` are unanswered: 1
  /// matches `score`; with a larger value the worker finds the next batch waiting when it finishes
  /// one. An interrupt kills the worker and is an error.
  [[nodiscard]] Status queue(std::span<const TokenPair> pairs, std::size_t most_waiting);
  /// Waits for the answers to all queued batches.
  [[nodiscard]] Status finish() { return wait_until(0); }

 private:
  [[nodiscard]] Status wait_until(std::size_t most_unanswered);

  std::string file_;
  const ScoringModel& model_;
  WorkerProcess& worker_;
  BatchLimits limits_;
  std::function<void(const nlohmann::json&)> on_parts_;
  std::size_t unanswered_ = 0;
};

}  // namespace attnscope::cli
