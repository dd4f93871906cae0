// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/score_run.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "app/cli/command_line.h"
#include "app/cli/worker_requests.h"
#include "base/control_characters.h"
#include "base/sentences.h"

namespace attnscope::cli {

namespace {

// A window of very long pairs is closed before it reaches its maximum number of pairs.
constexpr std::int64_t most_window_tokens = 4 << 20;

Status not_written() {
  return fail("the scores could not be written ({}); make room, or name a file with -o",
              system_reason(errno));
}

}  // namespace

Result<bool> applies_sigmoid(const ScoringModel& model, const std::string& activation) {
  if (activation == "none") return false;
  if (activation == "sigmoid") return true;
  if (activation != "checkpoint") {
    return fail("--activation '{}' is unknown; it is none, sigmoid or checkpoint",
                in_a_sentence(activation));
  }
  if (model.head.max_sim) {
    return fail("--activation checkpoint is of cross-encoders, and this model has no activation");
  }
  const std::string& own = model.activation;
  if (!own.starts_with("torch.")) return model.head.labels == 1;
  if (own.ends_with(".Sigmoid")) return true;
  if (own.ends_with(".Identity")) return false;
  return fail(
      "the checkpoint's activation is '{}', which is not computed here; leave --activation "
      "out for raw scores",
      in_a_sentence(own));
}

Status may_be_tag(const std::string& tag) {
  if (tag.find(' ') == std::string::npos && !has_control_character(tag)) return {};
  return fail("--tag '{}' has a blank or a control character; a TREC run's has none",
              in_a_sentence(tag));
}

std::string run_tag(const std::string& tag, const std::string& model) {
  if (!tag.empty()) return tag;
  std::string made = visible(model);
  std::ranges::replace(made, ' ', '-');
  return made;
}

void add_scoring_arguments(CLI::App& command, ModelArguments& model, ScoreOptions& options) {
  model.question.only_scores = true;
  CLI::Option* shorter = command.add_flag_callback(
      "--cls-only-last-layer", [&model] { model.question.options.emplace("cls-only-last-layer"); },
      "Require that the last layer is computed for [CLS] alone, and refuse models where it cannot "
      "be; by default it is wherever scores are the same");
  command
      .add_flag_callback(
          "--whole-last-layer", [&model] { model.question.only_scores = false; },
          "Compute the last layer for all tokens, although scores are the same")
      ->excludes(shorter);
  command
      .add_option("--precision", model.question.precision,
                  "Precision of the linear layers' products: float32, bfloat16 or int8; everything "
                  "else stays float32")
      ->type_name("P")
      ->capture_default_str();
  command
      .add_option("--batch-tokens", options.batches.tokens, "Maximum number of tokens in a batch")
      ->type_name("N")
      ->capture_default_str()
      ->check(above_zero);
  command.add_option("--batch-pairs", options.batches.pairs, "Maximum number of pairs in a batch")
      ->type_name("N")
      ->capture_default_str()
      ->check(above_zero);
  command
      .add_option("--read-ahead", options.read_ahead,
                  "Number of pairs read ahead before they are batched")
      ->type_name("N")
      ->capture_default_str()
      ->check(above_zero);
}

void add_precision_arguments(CLI::App& command, PrecisionArguments& arguments) {
  command
      .add_option_function<std::int64_t>(
          "--precision-sample",
          [&arguments](std::int64_t pairs) {
            arguments.sample = pairs;
            arguments.is_sample_given = true;
          },
          "Number of first pairs that are also scored in float32 to report what --precision "
          "changes; 0 disables it. Default: 256, or all with --qrels")
      ->type_name("N")
      ->check(CLI::Range(0, 1'000'000'000));
  command
      .add_option("--qrels", arguments.qrels,
                  "Judgements, optionally .gz: also report what --precision changes in nDCG@10, "
                  "and whether it is equivalent within 0.02")
      ->type_name("FILE");
}

void enlarge_for_cache(const CLI::App& command, ScoreOptions& options) {
  constexpr std::int64_t many = 16'384;
  if (command.get_option("--batch-pairs")->count() == 0) options.batches.pairs = many;
  if (command.get_option("--batch-tokens")->count() == 0)
    options.batches.tokens = std::numeric_limits<std::int64_t>::max() / 2;
  if (command.get_option("--read-ahead")->count() == 0) options.read_ahead = many;
}

Result<std::optional<PrecisionComparison>> PrecisionComparison::start(
    const ModelArguments& model, const ScoringModel& scored, const PrecisionArguments& asked,
    const std::atomic<int>* interrupted) {
  const std::string& precision = model.question.precision;
  if (precision == "float32") {
    if (asked.qrels.empty() && !asked.is_sample_given) return std::nullopt;
    return fail(
        "{} tells what another --precision than float32 costs; give one, or 'attnscope evaluate' "
        "the run",
        asked.qrels.empty() ? "--precision-sample" : "--qrels");
  }
  if (asked.sample == 0) return std::nullopt;
  std::optional<effectiveness::Qrels> qrels;
  if (!asked.qrels.empty()) {
    auto read = effectiveness::Qrels::read(asked.qrels);
    if (!read) return tl::unexpected(read.error());
    qrels = std::move(*read);
  }
  const std::int64_t sample = qrels && !asked.is_sample_given ? -1 : asked.sample;
  nlohmann::json request = scored.request;
  request["precision"] = "float32";
  auto worker = start_model(model, std::move(request), interrupted);
  if (!worker) return tl::unexpected(worker.error());
  return PrecisionComparison{std::move(worker->process), sample, {precision, std::move(qrels)}};
}

void tell(const PrecisionComparison& comparison) {
  for (const std::string& sentence : comparison.cost.sentences()) say("attnscope: {}", sentence);
}

ScoreRun::ScoreRun(const ScoringModel& model, WorkerProcess& worker, PairSource& pairs,
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
      progress_(options.shows_progress) {
  options_.batches.whole_queries = model.is_listwise;
}

Result<std::optional<ScoredPair>> ScoreRun::next_pair() {
  if (!ahead_) return reader_.next();
  std::optional<ScoredPair> pair;
  pair.swap(ahead_);
  return pair;
}

Result<bool> ScoreRun::begins_another_set(const Window& window, const ScoredPair& pair) {
  if (!window.pairs.empty() && pair.tokens.query == window.pairs.front().query) {
    if (window.pairs.size() < options_.read_ahead) return false;
    return fail(
        "{}: a query has more than {} documents, and this model reads all of a query's together; "
        "give a larger --read-ahead",
        reader_.place(pair.line), options_.read_ahead);
  }
  const auto bytes = std::as_bytes(std::span(pair.tokens.query));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!window.pairs.empty()) return true;
  if (scored_queries_.insert(std::hash<std::string_view>()(text)).second) return false;
  return fail(
      "{}: its query was scored already, and this model reads all documents of a query together; "
      "let them stand one behind the other",
      reader_.place(pair.line));
}

ScoreRun::Window ScoreRun::read_window() {
  Window window;
  std::int64_t tokens = 0;
  while (!was_interrupted() && (model_.is_listwise || (window.pairs.size() < options_.read_ahead &&
                                                       tokens < most_window_tokens))) {
    auto read = next_pair();
    if (!read) {
      window.error = read.error();
      break;
    }
    if (!*read) {
      window.last = true;
      break;
    }
    ScoredPair& pair = **read;
    if (model_.is_listwise) {
      const auto other = begins_another_set(window, pair);
      if (!other) {
        window.error = other.error();
        break;
      }
      if (*other) {
        ahead_ = std::move(pair);
        break;
      }
    }
    tokens += static_cast<std::int64_t>(pair.tokens.query.size() + pair.tokens.document.size());
    window.pairs.push_back(std::move(pair.tokens));
    window.cached.push_back(pair.cached);
    window.ids.push_back(std::move(pair.ids));
    window.lines.push_back(pair.line);
  }
  // An incomplete set would have other scores.
  if (model_.is_listwise && (window.error || was_interrupted())) window.pairs.clear();
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

Result<std::optional<std::vector<float>>> ScoreRun::scores_of(const ScoreBatch& batch,
                                                              const Window& window,
                                                              WorkerProcess& worker) const {
  if (Status sent = worker.send(request_for(batch, window)); !sent)
    return tl::unexpected(sent.error());
  const auto answer = wait_for(worker, "score", interrupted_);
  if (!answer) return tl::unexpected(answer.error());
  if (!*answer) return std::optional<std::vector<float>>();
  const nlohmann::json scores = (*answer)->value("scores", nlohmann::json::array());
  if (scores.size() != batch.pairs.size()) return fail("the worker answered other pairs");
  std::vector<float> numbers;
  numbers.reserve(scores.size());
  for (const nlohmann::json& score : scores) {
    numbers.push_back(score.is_number() ? score.get<float>()
                                        : std::numeric_limits<float>::quiet_NaN());
  }
  return std::optional(std::move(numbers));
}

Status ScoreRun::score_batch(const ScoreBatch& batch, Window& window) {
  const auto scores = scores_of(batch, window, worker_);
  if (!scores) return tl::unexpected(scores.error());
  if (!*scores) return {};
  for (std::size_t i = 0; i < batch.pairs.size(); ++i)
    window.scores[batch.pairs[i]] = (**scores)[i];
  return {};
}

std::string ScoreRun::query_of(const Window& window, std::size_t at) {
  const std::string& id = window.ids[at].query_id;
  if (!id.empty()) return id;
  const auto bytes = std::as_bytes(std::span(window.pairs[at].query));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void ScoreRun::count_ties_of(const ModelQuestion& question) {
  const std::string& few = question.multiplies_in();
  if (few == "float32") return;
  ties_.emplace();
  way_out_of_ties_ = fmt::format("{} has few digits to tell them apart by; {} float32 has more",
                                 few, question.precision == "float32" ? "--dtype" : "--precision");
}

std::string ScoreRun::ties_in_words() const {
  const std::string ties = ties_ ? ties_->in_words() : "";
  return ties.empty() ? ties : fmt::format("{}: {}", ties, way_out_of_ties_);
}

Status ScoreRun::compare(const Window& window) {
  std::size_t count = window.pairs.size();
  if (comparison_->sample >= 0) {
    const auto left = std::max<std::int64_t>(comparison_->sample - comparison_->cost.pairs(), 0);
    // The documents of a set attend to each other.
    if (left == 0 || !model_.is_listwise) count = std::min(count, static_cast<std::size_t>(left));
  }
  for (const ScoreBatch& batch :
       score_batches(std::span(window.pairs).first(count), options_.batches)) {
    const auto exact = scores_of(batch, window, comparison_->worker);
    if (!exact) return tl::unexpected(exact.error());
    if (!*exact) return {};
    for (std::size_t i = 0; i < batch.pairs.size(); ++i) {
      const std::size_t at = batch.pairs[i];
      const PairIds& ids = window.ids[at];
      comparison_->cost.add(
          query_of(window, at),
          ids.document_id.empty() ? fmt::format("line {}", window.lines[at]) : ids.document_id,
          {.narrow = *window.scores[at], .exact = (**exact)[i]});
    }
  }
  return {};
}

Status ScoreRun::write(const std::string& text) {
  if (head_) {
    behind_head_ += text;
    return {};
  }
  if (out_ != nullptr) return out_->write(text);
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size()) return {};
  is_output_lost_ = true;
  return not_written();
}

Status ScoreRun::flush() {
  // Data that an earlier write lost is also missing.
  if (out_ != nullptr || (std::fflush(stdout) == 0 && std::ferror(stdout) == 0)) return {};
  is_output_lost_ = true;
  return not_written();
}

tl::unexpected<Error> ScoreRun::no_score(const Window& window, std::size_t at) const {
  const PairIds& ids = window.ids[at];
  const std::string place = reader_.place(window.lines[at]);
  std::string pair = "this pair";
  if (!ids.query_id.empty() || !ids.document_id.empty()) {
    pair = fmt::format("query '{}' and document '{}'", in_a_sentence(ids.query_id),
                       in_a_sentence(ids.document_id));
  }
  return fail("{}: the score of {} is no number; are the checkpoint's weights damaged?", place,
              pair);
}

Status ScoreRun::write_ready(Window& window) {
  for (; window.written < window.scores.size(); ++window.written) {
    const std::optional<float>& score = window.scores[window.written];
    if (!score) break;
    if (!std::isfinite(*score)) return no_score(window, window.written);
    const auto text = lines_.add(window.ids[window.written], *score);
    if (!text) {
      return fail("{}: {}", reader_.place(window.lines[window.written]), text.error().message);
    }
    if (Status wrote = write(*text); !wrote) return wrote;
    if (ties_)
      ties_->add(query_of(window, window.written), window.ids[window.written].document_id, *score);
  }
  Status flushed = flush();
  if (flushed) written_ = lines_.count();
  return flushed;
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
    // Nothing is written after a score that is not finite.
    const auto first_none = std::ranges::find_if(
        window.scores, [](const auto& value) { return value && !std::isfinite(*value); });
    const auto written = static_cast<std::size_t>(first_none - window.scores.begin());
    if (std::ranges::min(batch.pairs) > written) continue;
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
    if (outcome && comparison_ != nullptr && !was_interrupted()) outcome = compare(window);
    if (outcome && window.error) outcome = tl::unexpected(*window.error);
    if (window.last) break;
  }
  if (was_interrupted()) {
    worker_.kill();
    if (comparison_ != nullptr) comparison_->worker.kill();
  }
  progress_.clear();
  const bool is_whole = outcome && !was_interrupted();
  // A query with unscored documents has no ranking.
  Status rest = is_whole ? write(lines_.finish()) : Status();
  // An incomplete output does not replace a complete file.
  if (out_ != nullptr && !is_whole && (!options_.keeps_part || out_->replaces())) {
    written_ = 0;
    return outcome;
  }
  if (head_) rest = write(std::exchange(head_, nullptr)() + behind_head_);
  if (rest) rest = out_ != nullptr ? out_->commit() : flush();
  if (rest && !is_output_lost_) written_ = lines_.count();
  // A write error takes precedence: the scores before it are not in a file either.
  if (!rest && out_ != nullptr) written_ = 0;
  return rest ? outcome : rest;
}

}  // namespace attnscope::cli
