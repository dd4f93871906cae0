// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/command_line.h"
#include "app/cli/model_arguments.h"
#include "app/cli/progress_line.h"
#include "app/cli/scored_pairs.h"
#include "app/cli/worker_requests.h"
#include "engine/documents/document_cache.h"
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
  ScoreRun(const ScoringModel& model, WorkerProcess& worker, ScoredPairs& pairs, bool from_cache,
           ScoreLines lines, WrittenFile* out, const std::atomic<int>& interrupted,
           const ScoreOptions& options);

  /// Until the last pair, an error or the interrupt. Scores of all pairs before are then written.
  [[nodiscard]] Status run();
  [[nodiscard]] std::int64_t written() const { return written_; }
  [[nodiscard]] bool was_interrupted() const { return interrupted_ > 0; }

 private:
  struct Window {
    std::vector<TokenPair> pairs;
    std::vector<std::int64_t> cached;  // numbers in the cache, of each
    std::vector<PairIds> ids;
    std::vector<std::int64_t> lines;  // of the file
    std::vector<std::optional<float>> scores;
    std::size_t written = 0;
    std::optional<Error> error;  // what came behind them
    bool last = false;
  };
  [[nodiscard]] Window read_window();
  [[nodiscard]] Status score(Window& window);
  [[nodiscard]] nlohmann::json request_for(const ScoreBatch& batch, const Window& window) const;
  [[nodiscard]] Status score_batch(const ScoreBatch& batch, Window& window);
  /// Scores at the window's beginning that are there.
  [[nodiscard]] Status write_ready(Window& window);
  [[nodiscard]] Status write(const std::string& text);
  [[nodiscard]] Status flush();
  void show_progress(const Window& window, std::size_t scored);

  const ScoringModel& model_;
  WorkerProcess& worker_;
  ScoredPairs& reader_;
  bool from_cache_;
  ScoreLines lines_;
  WrittenFile* out_;
  const std::atomic<int>& interrupted_;
  ScoreOptions options_;
  std::int64_t written_ = 0, scored_ = 0;
  double read_before_ = 0;  // how much of the file the windows before held
  CountLine progress_;
};

Status not_written() {
  return fail("the scores could not be written ({}); make room, or name a file with -o",
              system_reason(errno));
}

ScoreRun::ScoreRun(const ScoringModel& model, WorkerProcess& worker, ScoredPairs& pairs,
                   bool from_cache, ScoreLines lines, WrittenFile* out,
                   const std::atomic<int>& interrupted, const ScoreOptions& options)
    : model_(model),
      worker_(worker),
      reader_(pairs),
      from_cache_(from_cache),
      lines_(std::move(lines)),
      out_(out),
      interrupted_(interrupted),
      options_(options),
      progress_(options.shows_progress) {}

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
    ScoredPair& pair = **read;
    tokens += static_cast<std::int64_t>(pair.tokens.query.size() + pair.tokens.document.size());
    window.pairs.push_back(std::move(pair.tokens));
    window.cached.push_back(pair.cached);
    window.ids.push_back(std::move(pair.ids));
    window.lines.push_back(pair.line);
  }
  window.scores.resize(window.pairs.size());
  return window;
}

nlohmann::json ScoreRun::request_for(const ScoreBatch& batch, const Window& window) const {
  nlohmann::json request = {{"request", "score"}, {"cls", model_.tokenizer->cls()}};
  nlohmann::json items = nlohmann::json::array();
  if (from_cache_ && batch.one_query) {
    for (const std::size_t at : batch.pairs) items.push_back(window.cached[at]);
    request["query"] = window.pairs[batch.pairs.front()].query;
    request["cached"] = std::move(items);
    return request;
  }
  for (const std::size_t at : batch.pairs) {
    nlohmann::json item = pair_json(window.pairs[at]);
    if (from_cache_) item["cached"] = window.cached[at];
    items.push_back(std::move(item));
  }
  request["one_query"] = batch.one_query;
  request["items"] = std::move(items);
  return request;
}

Status ScoreRun::score_batch(const ScoreBatch& batch, Window& window) {
  if (Status sent = worker_.send(request_for(batch, window)); !sent) return sent;
  const auto answer = wait_for(worker_, "score", interrupted_);
  if (!answer) return tl::unexpected(answer.error());
  if (!*answer) return {};
  const auto scores = (*answer)->value("scores", std::vector<float>());
  if (scores.size() != batch.pairs.size()) return fail("the worker answered other pairs");
  for (std::size_t i = 0; i < scores.size(); ++i) window.scores[batch.pairs[i]] = scores[i];
  return {};
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
  std::optional<double> done;
  if (const auto read = reader_.progress(); read && !window.pairs.empty()) {
    const double share = static_cast<double>(scored) / static_cast<double>(window.pairs.size());
    done = read_before_ + (*read - read_before_) * share;
  }
  progress_.show(fmt::format("{} pairs", scored_), static_cast<double>(scored_), done);
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
  progress_.clear();
  Status rest = write(lines_.finish());
  if (rest) rest = out_ != nullptr ? out_->commit() : flush();
  // What could not be written is the worse news: no score before it is there either.
  if (!rest) written_ = 0;
  return rest ? outcome : rest;
}

struct ScoreCommandArguments {
  ModelArguments model;
  std::string pairs, queries, cache, pairs_format, format = "tsv", tag, out;
  ScoreOptions options;
};

/// Everything that is checked before a worker is started.
struct Prepared {
  ScoringModel model;
  std::optional<DocumentCache> cache;
  PairReader lines;
  ScoreFormat format;
  std::optional<WrittenFile> out;  // or standard output
};

/// What is read, and which parts of a pair its lines have.
struct ScoredFile {
  std::string name;
  PairParts parts = PairParts::both;
};

Result<ScoredFile> file_of(const ScoreCommandArguments& arguments) {
  if (arguments.pairs.empty() && arguments.queries.empty()) {
    return fail("--pairs is required; or, with --cache, --queries for all its documents");
  }
  if (!arguments.pairs.empty() && !arguments.queries.empty()) {
    return fail("--pairs and --queries exclude each other; leave one of them out");
  }
  if (!arguments.queries.empty()) {
    if (arguments.cache.empty()) {
      return fail("--queries alone have no documents; give a --cache of them, or --pairs");
    }
    return ScoredFile{arguments.queries, PairParts::query};
  }
  return ScoredFile{arguments.pairs,
                    arguments.cache.empty() ? PairParts::both : PairParts::named_document};
}

/// Whether its documents are those of the model is told by the worker, which knows its weights.
Result<std::optional<DocumentCache>> open_cache(const ScoreCommandArguments& arguments,
                                                const ScoringModel& model) {
  if (arguments.cache.empty()) return std::optional<DocumentCache>();
  if (!model.keeps_documents) {
    return fail(
        "'{}' reads query and document together, so there is no cache for it; give --pairs with "
        "both texts",
        arguments.model.checkpoint);
  }
  auto cache = DocumentCache::open(arguments.cache);
  if (!cache) return tl::unexpected(cache.error());
  if (!cache->has_ids()) {
    return fail("{}: its documents have no ids; 'attnscope encode' writes some that do",
                arguments.cache);
  }
  const CacheSource& source = cache->source();
  if (!source.file.empty() && source.tokenizer != model.tokenizer->fingerprint()) {
    return fail("{}: its documents were {}; encode them again", arguments.cache,
                of_another_tokenizer);
  }
  return std::optional(std::move(*cache));
}

Status may_be_output(const ScoreCommandArguments& arguments, const ScoredFile& read,
                     const ScoringModel& model) {
  std::vector<std::filesystem::path> inputs = model.files;
  inputs.insert(inputs.end(), {read.name, arguments.cache});
  return may_be_written(arguments.out, inputs);
}

Result<Prepared> prepare(const ScoreCommandArguments& arguments) {
  const auto format = parse_score_format(arguments.format);
  if (!format) return tl::unexpected(format.error());
  std::optional<PairFormat> pairs_format;
  if (!arguments.pairs_format.empty()) {
    const auto parsed = parse_pair_format(arguments.pairs_format);
    if (!parsed) return tl::unexpected(parsed.error());
    pairs_format = *parsed;
  }
  const auto file = file_of(arguments);
  if (!file) return tl::unexpected(file.error());
  auto lines = PairReader::open(file->name, pairs_format, file->parts);
  if (!lines) return tl::unexpected(lines.error());
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
  auto cache = open_cache(arguments, *model);
  if (!cache) return tl::unexpected(cache.error());
  Prepared prepared{std::move(*model), std::move(*cache), std::move(*lines), *format, std::nullopt};
  if (!arguments.out.empty()) {
    if (Status allowed = may_be_output(arguments, *file, prepared.model); !allowed)
      return tl::unexpected(allowed.error());
    auto out = WrittenFile::beside(arguments.out);
    if (!out) return tl::unexpected(out.error());
    prepared.out.emplace(std::move(*out));
  }
  return prepared;
}

Status open_in_worker(WorkerProcess& worker, const std::string& cache) {
  return ask(worker,
             {{"request", "open-cache"}, {"path", std::filesystem::absolute(cache).string()}},
             [](const nlohmann::json& event) { return event.value("event", "") == "cache-open"; });
}

void score(Session& session, const ScoreCommandArguments& arguments) {
  auto prepared = prepare(arguments);
  if (!prepared) return session.fail(exit_wrong_use, prepared.error().message);
  catch_interrupts();
  auto worker = start_model(arguments.model, prepared->model, &interrupts());
  if (!worker) return session.fail(exit_wrong_use, worker.error().message);
  if (prepared->cache) {
    const Status opened = open_in_worker(worker->process, arguments.cache);
    if (!opened) return session.fail(exit_wrong_use, opened.error().message);
  }
  ScoreOptions options = arguments.options;
  options.shows_progress = isatty(STDERR_FILENO) == 1;
  const std::string tag = arguments.tag.empty() ? prepared->model.name : arguments.tag;
  const ScoringModel& model = prepared->model;
  ScoredPairs pairs = prepared->cache
                          ? ScoredPairs(model, std::move(prepared->lines), *prepared->cache,
                                        arguments.cache, !arguments.queries.empty())
                          : ScoredPairs(model, std::move(prepared->lines));
  ScoreRun run(model, worker->process, pairs, prepared->cache.has_value(), {prepared->format, tag},
               prepared->out ? &*prepared->out : nullptr, interrupts(), options);
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

/// Candidates of a cache are not encoded: a query's are scored together as far as they are read
/// ahead, and the worker keeps within its memory.
void enlarge_for_cache(const CLI::App& command, ScoreOptions& options) {
  constexpr std::int64_t many = 16'384;
  if (command.get_option("--batch-pairs")->count() == 0) options.batches.pairs = many;
  if (command.get_option("--batch-tokens")->count() == 0)
    options.batches.tokens = std::numeric_limits<std::int64_t>::max() / 2;
  if (command.get_option("--read-ahead")->count() == 0) options.read_ahead = many;
}

}  // namespace

void add_score_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<ScoreCommandArguments>();
  CLI::App* command = app.add_subcommand("score", "Score queries and documents by a checkpoint");
  add_model_arguments(*command, arguments->model);
  command
      ->add_option("--pairs", arguments->pairs,
                   "Queries and documents, one pair a line: .tsv, .jsonl, or - for standard input")
      ->type_name("FILE");
  command
      ->add_option("--cache", arguments->cache,
                   "Documents that 'encode' has encoded; --pairs then name them: QID, DOCID, QUERY")
      ->type_name("FILE");
  command
      ->add_option("--queries", arguments->queries,
                   "In place of --pairs, beside all documents of the cache: QID, QUERY")
      ->type_name("FILE");
  command
      ->add_option("--pairs-format", arguments->pairs_format,
                   "tsv or jsonl, of pairs and queries; else by the name")
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
  command
      ->add_option("--batch-tokens", arguments->options.batches.tokens,
                   "Most tokens of a batch; with --cache no limit unless given")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--batch-pairs", arguments->options.batches.pairs,
                   "Most pairs of a batch; with --cache 16384 unless given")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--read-ahead", arguments->options.read_ahead,
                   "Pairs that are read before batches are made of them; with --cache 16384 "
                   "unless given")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->add_option("-o,--output", arguments->out, "Else standard output")->type_name("FILE");
  command->callback([&session, arguments, command] {
    if (!arguments->cache.empty()) enlarge_for_cache(*command, arguments->options);
    score(session, *arguments);
  });
}

}  // namespace attnscope::cli
