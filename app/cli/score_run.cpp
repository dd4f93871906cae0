// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/score_run.h"

#include <fmt/format.h>

#include <utility>

#include "app/cli/progress_line.h"

namespace attnscope::cli {

namespace {

// A window of very long pairs is closed before it holds as many as it may.
constexpr std::int64_t most_window_tokens = 4 << 20;

}  // namespace

ScoreRun::ScoreRun(const ScoringModel& model, WorkerProcess& worker, PairReader& pairs,
                   ScoreLines lines, std::FILE* out, const std::atomic<int>& interrupted,
                   const ScoreOptions& options)
    : model_(model),
      worker_(worker),
      reader_(pairs),
      lines_(std::move(lines)),
      out_(out),
      interrupted_(interrupted),
      options_(options) {}

ScoreRun::Window ScoreRun::read_window() {
  Window window;
  std::int64_t tokens = 0;
  while (window.pairs.size() < options_.read_ahead && tokens < most_window_tokens &&
         !was_interrupted()) {
    auto read = reader_.next();
    if (!read) {
      window.error = read.error();
      break;
    }
    if (!*read) {
      window.last = true;
      break;
    }
    TextPair& text = **read;
    auto pair = model_.pieces.encode(text.query, text.document, model_.limits);
    if (!pair) {
      window.error = Error{fmt::format("{}: {}", reader_.place(text.line), pair.error().message)};
      break;
    }
    tokens += static_cast<std::int64_t>(pair->query.size() + pair->document.size());
    window.pairs.push_back(std::move(*pair));
    window.ids.push_back({std::move(text.query_id), std::move(text.document_id)});
    window.lines.push_back(text.line);
  }
  window.scores.resize(window.pairs.size());
  return window;
}

Status ScoreRun::score_batch(const ScoreBatch& batch, Window& window) {
  nlohmann::json items = nlohmann::json::array();
  for (const std::size_t at : batch.pairs) items.push_back(pair_json(window.pairs[at]));
  const Status sent = worker_.send({{"request", "score"},
                                    {"cls", model_.pieces.cls()},
                                    {"one_query", batch.one_query},
                                    {"items", std::move(items)}});
  if (!sent) return sent;
  constexpr std::chrono::milliseconds look_around(200);
  while (true) {
    const WorkerProcess::Read read = worker_.read(look_around);
    if (was_interrupted()) return {};
    if (read.wait == WorkerProcess::Wait::timeout) continue;
    if (read.wait == WorkerProcess::Wait::ended) {
      return fail("the process that computes ended before it answered: {}", read.ended.words);
    }
    const std::string kind = read.event.value("event", "");
    if (kind == "error") return fail("{}", read.event.value("message", "an error without words"));
    if (kind != "score") continue;
    const auto scores = read.event.value("scores", std::vector<float>());
    if (scores.size() != batch.pairs.size()) return fail("the worker answered other pairs");
    for (std::size_t i = 0; i < scores.size(); ++i) window.scores[batch.pairs[i]] = scores[i];
    return {};
  }
}

Status ScoreRun::write(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), out_) == text.size()) return {};
  return fail("the scores could not be written; is the disk full or the pipe closed?");
}

Status ScoreRun::write_ready(Window& window) {
  for (; window.written < window.scores.size(); ++window.written) {
    const std::optional<float>& score = window.scores[window.written];
    if (!score) break;
    const auto text = lines_.add(window.ids[window.written], *score);
    if (!text) {
      return fail("{}: {}", reader_.place(window.lines[window.written]), text.error().message);
    }
    if (Status wrote = write(*text); !wrote) return wrote;
    ++written_;
  }
  if (std::fflush(out_) != 0) return write(std::string(1, '\n'));
  return {};
}

void ScoreRun::show_progress(const Window& window, std::size_t scored) {
  if (!options_.shows_progress) return;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  const double seconds = elapsed.count();
  std::string line =
      fmt::format("{} pairs, {:.1f} a second", scored_, static_cast<double>(scored_) / seconds);
  if (const auto read = reader_.progress(); read && !window.pairs.empty()) {
    const double share = static_cast<double>(scored) / static_cast<double>(window.pairs.size());
    const double done = read_before_ + (*read - read_before_) * share;
    if (done > 0) {
      line += fmt::format(", {:.0f} %, {} left", 100 * done,
                          format_seconds(seconds * (1 - done) / done));
    }
  }
  fmt::print(stderr, "\r\x1b[2K{}", line);
  std::fflush(stderr);
  drawn_ = true;
}

Status ScoreRun::score(Window& window) {
  std::size_t scored = 0;
  for (const ScoreBatch& batch : score_batches(window.pairs, options_.batches)) {
    if (Status done = score_batch(batch, window); !done) return done;
    if (was_interrupted()) return {};
    scored += batch.pairs.size();
    scored_ += static_cast<std::int64_t>(batch.pairs.size());
    if (Status wrote = write_ready(window); !wrote) return wrote;
    show_progress(window, scored);
  }
  if (const auto read = reader_.progress()) read_before_ = *read;
  return {};
}

Status ScoreRun::run() {
  Status outcome;
  while (outcome && !was_interrupted()) {
    Window window = read_window();
    outcome = score(window);
    if (outcome && window.error) outcome = tl::unexpected(*window.error);
    if (window.last) break;
  }
  if (was_interrupted()) worker_.kill();
  if (drawn_) fmt::print(stderr, "\r\x1b[2K");
  const Status rest = write(lines_.finish());
  if (std::fflush(out_) != 0 && outcome && rest) return write(std::string(1, '\n'));
  return outcome ? rest : outcome;
}

}  // namespace attnscope::cli
