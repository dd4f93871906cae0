// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/command_line.h"
#include "app/cli/model_arguments.h"
#include "app/cli/progress_line.h"
#include "engine/scoring/score_batches.h"
#include "engine/scoring/score_lines.h"
#include "engine/text/pair_reader.h"
#include "kernels/base/sentences.h"
#include "kernels/base/written_file.h"

namespace attnscope::cli {

namespace {

// A window of very long pairs is closed before it holds as many as it may.
constexpr std::int64_t most_window_tokens = 4 << 20;

struct ScoreOptions {
  BatchLimits batches;
  std::size_t read_ahead = 1024;  // pairs
  bool shows_progress = false;    // on stderr
};

/// Scores pairs as they are read: so many are read ahead, put into batches, scored by the worker,
/// and written in the order in which they came. Memory does not grow with their number.
class ScoreRun {
 public:
  /// Lines go into `out`, or to standard output; `interrupted` above 0 ends the run after what is
  /// finished.
  ScoreRun(const ScoringModel& model, WorkerProcess& worker, PairReader& pairs, ScoreLines lines,
           WrittenFile* out, const std::atomic<int>& interrupted, const ScoreOptions& options);

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
  [[nodiscard]] Status flush();
  void show_progress(const Window& window, std::size_t scored);

  const ScoringModel& model_;
  WorkerProcess& worker_;
  PairReader& reader_;
  ScoreLines lines_;
  WrittenFile* out_;
  const std::atomic<int>& interrupted_;
  ScoreOptions options_;
  std::int64_t written_ = 0, scored_ = 0;
  double read_before_ = 0;  // how much of the file the windows before held
  bool drawn_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

Status not_written() {
  return fail("the scores could not be written ({}); make room, or name a file with -o",
              system_reason(errno));
}

ScoreRun::ScoreRun(const ScoringModel& model, WorkerProcess& worker, PairReader& pairs,
                   ScoreLines lines, WrittenFile* out, const std::atomic<int>& interrupted,
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
  if (out_ != nullptr) return out_->write(text);
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() ? Status() : not_written();
}

Status ScoreRun::flush() {
  return out_ != nullptr || std::fflush(stdout) == 0 ? Status() : not_written();
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
  return flush();
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
  print_to_terminal("\r\x1b[2K" + line);
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
  if (drawn_) print_to_terminal("\r\x1b[2K");
  Status rest = write(lines_.finish());
  if (rest) rest = out_ != nullptr ? out_->commit() : flush();
  // What could not be written is the worse news: no score before it is there either.
  if (!rest) written_ = 0;
  return rest ? outcome : rest;
}

struct ScoreCommandArguments {
  ModelArguments model;
  std::string pairs, pairs_format, format = "tsv", tag, out;
  ScoreOptions options;
};

std::atomic<int> interrupts = 0;

extern "C" void note_interrupt(int /*signal*/) {
  interrupts.fetch_add(1, std::memory_order_relaxed);
}

/// Everything that is checked before a worker is started.
struct Prepared {
  ScoringModel model;
  PairReader pairs;
  ScoreFormat format;
  std::optional<WrittenFile> out;  // or standard output
};

Result<Prepared> prepare(const ScoreCommandArguments& arguments) {
  const auto format = parse_score_format(arguments.format);
  if (!format) return tl::unexpected(format.error());
  std::optional<PairFormat> pairs_format;
  if (!arguments.pairs_format.empty()) {
    const auto parsed = parse_pair_format(arguments.pairs_format);
    if (!parsed) return tl::unexpected(parsed.error());
    pairs_format = *parsed;
  }
  auto pairs = PairReader::open(arguments.pairs, pairs_format);
  if (!pairs) return tl::unexpected(pairs.error());
  auto model = open_model(arguments.model);
  if (!model) return tl::unexpected(model.error());
  if (!model->gives_scores) {
    return fail(
        "'{}' is an encoder without a classification head, so it gives no scores; take one that "
        "was trained to rank, with the tensors classifier.weight and classifier.bias",
        arguments.model.checkpoint);
  }
  if (*format == ScoreFormat::trec && arguments.tag.find_first_of(" \t\r\n") != std::string::npos) {
    return fail("--tag '{}' has a blank; a TREC run has none", in_a_sentence(arguments.tag));
  }
  Prepared prepared{std::move(*model), std::move(*pairs), *format, std::nullopt};
  if (!arguments.out.empty()) {
    const std::filesystem::path pairs_file = arguments.pairs;
    if (Status allowed = may_be_written(arguments.out, std::span(&pairs_file, 1)); !allowed)
      return tl::unexpected(allowed.error());
    auto out = WrittenFile::beside(arguments.out);
    if (!out) return tl::unexpected(out.error());
    prepared.out.emplace(std::move(*out));
  }
  return prepared;
}

void score(Session& session, const ScoreCommandArguments& arguments) {
  auto prepared = prepare(arguments);
  if (!prepared) return session.fail(exit_wrong_use, prepared.error().message);
  catch_interrupts(note_interrupt);
  auto worker = start_model(arguments.model, prepared->model, &interrupts);
  if (!worker) return session.fail(exit_wrong_use, worker.error().message);
  ScoreOptions options = arguments.options;
  options.shows_progress = isatty(STDERR_FILENO) == 1;
  const std::string tag = arguments.tag.empty() ? prepared->model.name : arguments.tag;
  ScoreRun run(prepared->model, worker->process, prepared->pairs, {prepared->format, tag},
               prepared->out ? &*prepared->out : nullptr, interrupts, options);
  const Status done = run.run();
  if (!done) {
    return session.fail(exit_wrong_use, fmt::format("{} ({} scores before it are written)",
                                                    done.error().message, run.written()));
  }
  if (run.was_interrupted()) {
    session.fail(exit_cancelled,
                 fmt::format("interrupted; the scores of {} pairs are written", run.written()));
  }
}

}  // namespace

void add_score_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<ScoreCommandArguments>();
  CLI::App* command =
      app.add_subcommand("score", "Score queries and documents by a cross-encoder's checkpoint");
  add_model_arguments(*command, arguments->model);
  command
      ->add_option("--pairs", arguments->pairs,
                   "Queries and documents, one pair a line: .tsv, .jsonl, or - for standard input")
      ->type_name("FILE")
      ->required();
  command->add_option("--pairs-format", arguments->pairs_format, "tsv or jsonl; else by the name")
      ->type_name("FORMAT");
  command->add_option("--format", arguments->format, "tsv, trec or jsonl")
      ->type_name("FORMAT")
      ->capture_default_str();
  command->add_option("--tag", arguments->tag, "Of a TREC run; else the checkpoint's name")
      ->type_name("TEXT");
  command->add_flag_callback(
      "--cls-only-last-layer",
      [arguments] { arguments->model.question.options.emplace("cls-only-last-layer"); },
      "Compute of the last layer only what [CLS] needs: the same scores, sooner");
  command->add_option("--batch-tokens", arguments->options.batches.tokens, "Most tokens of a batch")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->add_option("--batch-pairs", arguments->options.batches.pairs, "Most pairs of a batch")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--read-ahead", arguments->options.read_ahead,
                   "Pairs that are read before batches are made of them")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->add_option("-o,--output", arguments->out, "Else standard output")->type_name("FILE");
  command->callback([&session, arguments] { score(session, *arguments); });
}

}  // namespace attnscope::cli
