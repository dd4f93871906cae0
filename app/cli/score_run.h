#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Scores pairs as they are read: so many are read ahead, put into batches, scored by the worker,
// and written in the order in which they came. Memory does not grow with their number.

#include <atomic>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/model_arguments.h"
#include "engine/scoring/score_batches.h"
#include "engine/scoring/score_lines.h"
#include "engine/text/pair_reader.h"

namespace attnscope::cli {

struct ScoreOptions {
  BatchLimits batches;
  std::size_t read_ahead = 1024;  // pairs
  bool shows_progress = false;    // on stderr
};

class ScoreRun {
 public:
  /// `out` is where lines go; `interrupted` above 0 ends the run after what is finished.
  ScoreRun(const ScoringModel& model, WorkerProcess& worker, PairReader& pairs, ScoreLines lines,
           std::FILE* out, const std::atomic<int>& interrupted, const ScoreOptions& options);

  /// Until the last pair, an error or the interrupt. Scores of all pairs before are then written.
  [[nodiscard]] Status run();
  [[nodiscard]] std::int64_t written() const { return written_; }
  [[nodiscard]] bool was_interrupted() const { return interrupted_ > 0; }

 private:
  struct Window {
    std::vector<TokenPair> pairs;
    std::vector<PairIds> ids;
    std::vector<std::int64_t> lines;  // of the file
    std::vector<std::optional<float>> scores;
    std::size_t written = 0;
    std::optional<Error> error;  // what came behind them
    bool last = false;
  };
  [[nodiscard]] Window read_window();
  [[nodiscard]] Status score(Window& window);
  [[nodiscard]] Status score_batch(const ScoreBatch& batch, Window& window);
  /// Scores at the window's beginning that are there.
  [[nodiscard]] Status write_ready(Window& window);
  [[nodiscard]] Status write(const std::string& text);
  void show_progress(const Window& window, std::size_t scored);

  const ScoringModel& model_;
  WorkerProcess& worker_;
  PairReader& reader_;
  ScoreLines lines_;
  std::FILE* out_;
  const std::atomic<int>& interrupted_;
  ScoreOptions options_;
  std::int64_t written_ = 0, scored_ = 0;
  double read_before_ = 0;  // how much of the file the windows before held
  bool drawn_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace attnscope::cli
