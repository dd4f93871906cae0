// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/train_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <limits>
#include <system_error>
#include <utility>

#include "app/cli/command_line.h"
#include "app/cli/score_run.h"
#include "app/cli/worker_requests.h"
#include "base/mapped_file.h"
#include "base/sentences.h"
#include "base/written_file.h"
#include "engine/checkpoint/trained_folder.h"
#include "engine/effectiveness/measures.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/ranking/score_batches.h"

namespace attnscope::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// An interrupt does not cancel a step: the step is finished, then saved.
const std::atomic<int> never_interrupted = 0;

report::TrainedStep step_of(const json& answer) {
  return {.step = answer.value("step", std::int64_t{0}),
          .loss = answer.value("loss", 0.0),
          .learning_rate = answer.value("learning_rate", 0.0),
          .gradient_norm = answer.value("gradient_norm", 0.0),
          .tokens = answer.value("tokens", std::int64_t{0}),
          .seconds = answer.value("seconds", 0.0)};
}

json event_of(const report::TrainedStep& step, bool is_best) {
  json event{{"event", "step"},
             {"step", step.step},
             {"loss", step.loss},
             {"learning_rate", step.learning_rate},
             {"gradient_norm", step.gradient_norm},
             {"tokens", step.tokens},
             {"seconds", step.seconds}};
  if (step.ndcg) event["nDCG@10"] = *step.ndcg;
  if (is_best) event["best"] = true;
  return event;
}

/// Replaces an existing file instead of writing into it.
Status write_copy(const fs::path& from, const fs::path& into) {
  const auto read = MappedFile::open(from);
  if (!read) return tl::unexpected(read.error());
  auto file = WrittenFile::beside(into);
  if (!file) return tl::unexpected(file.error());
  file->write(read->bytes());
  return file->commit();
}

}  // namespace

json to_json(const std::optional<KeptStep>& kept) {
  return kept ? json{{"step", kept->step}, {"nDCG@10", kept->ndcg}} : json();
}

std::optional<KeptStep> kept_step(const json& json) {
  if (!json.is_object()) return std::nullopt;
  return KeptStep{.step = json.value("step", std::int64_t{0}), .ndcg = json.value("nDCG@10", 0.0)};
}

Result<TrainRun> TrainRun::make(const TrainArguments& arguments, ReadyToTrain& ready,
                                WorkerProcess& worker, std::int64_t done) {
  auto curve =
      report::TrainingCurveFile::go_on(arguments.in_folder(report::training_curve_file), done);
  if (!curve) return tl::unexpected(curve.error());
  return TrainRun(arguments, ready, worker, std::move(*curve), done);
}

TrainRun::TrainRun(const TrainArguments& arguments, ReadyToTrain& ready, WorkerProcess& worker,
                   report::TrainingCurveFile curve, std::int64_t done)
    : arguments_(arguments),
      ready_(ready),
      worker_(worker),
      data_(arguments.shape, ready.model, std::move(ready.file), std::move(ready.texts)),
      curve_(std::move(curve)),
      done_(done),
      kept_(ready.kept),
      progress_(isatty(STDERR_FILENO) == 1 && !arguments.events) {}

Status TrainRun::run() {
  if (done_ < arguments_.steps) say_begin();
  std::optional<json> next;
  while (done_ < arguments_.steps && interrupts() == 0) {
    if (!next) {
      auto request = data_.request_of(done_ + 1);
      if (!request) return tl::unexpected(request.error());
      next = std::move(*request);
    }
    if (Status sent = worker_.send(*next); !sent) return sent;
    next.reset();
    // Tokenizes the next step's texts while this step is computed.
    Result<json> following =
        done_ + 2 <= arguments_.steps ? data_.request_of(done_ + 2) : Result<json>(json());
    auto event = wait_for(worker_, "train-step", never_interrupted);
    if (!event) return tl::unexpected(event.error());
    if (Status after = take_step(**event); !after) return after;
    if (!following) return tl::unexpected(following.error());
    if (!following->is_null()) next = std::move(*following);
  }
  progress_.clear();
  if (done_ < arguments_.steps) return save();
  return finish();
}

void TrainRun::say_begin() const {
  if (arguments_.events) return;
  say("attnscope: {} steps of {} groups from {} lines ({:.2f} times each){}", arguments_.steps,
      data_.groups_of_step(), data_.lines(), data_.epochs(arguments_.steps),
      done_ > 0 ? fmt::format("; resuming after step {}", done_) : "");
}

Status TrainRun::take_step(const json& answer) {
  report::TrainedStep step = step_of(answer);
  const auto tokens = static_cast<double>(step.tokens);
  done_ = step.step;
  losses_ += step.loss;
  ++counted_;
  tokens_ += tokens;
  seconds_ += step.seconds;
  progress_.show(fmt::format("step {} of {}, loss {:.4f}, {:.0f} tokens a second", done_,
                             arguments_.steps, step.loss, tokens / step.seconds),
                 static_cast<double>(done_ - first_),
                 static_cast<double>(done_) / static_cast<double>(arguments_.steps));
  bool is_best = false;
  if (arguments_.validates() &&
      (done_ % arguments_.steps_to_validation() == 0 || done_ == arguments_.steps)) {
    const auto value = validate();
    if (!value) return tl::unexpected(value.error());
    step.ndcg = *value;
    const auto best = keep_if_best(*value);
    if (!best) return tl::unexpected(best.error());
    is_best = *best;
  }
  if (Status written = curve_.add(step); !written) return written;
  tell(step, is_best);
  const bool saves = done_ % arguments_.save_every == 0 && done_ < arguments_.steps;
  return saves ? save() : Status();
}

void TrainRun::print_event(const json& event) {
  const std::string line = event.dump() + "\n";
  errno = 0;
  if (std::fwrite(line.data(), 1, line.size(), stdout) == line.size() && std::fflush(stdout) == 0)
    return;
  if (lost_events_.empty()) lost_events_ = system_reason(errno);
}

void TrainRun::tell(const report::TrainedStep& step, bool is_best) {
  if (arguments_.events) return print_event(event_of(step, is_best));
  if (!step.ndcg && done_ % arguments_.save_every != 0 && done_ != arguments_.steps) return;
  progress_.clear();
  say("attnscope: step {} of {}: loss {:.4f} (mean of {} steps), {:.0f} tokens a second{}{}", done_,
      arguments_.steps, losses_ / static_cast<double>(counted_), counted_, tokens_ / seconds_,
      step.ndcg ? fmt::format(", nDCG@10 {:.4f}", *step.ndcg) : "",
      is_best ? ", the best so far" : "");
  losses_ = tokens_ = seconds_ = 0;
  counted_ = 0;
}

Status TrainRun::ask_for(const json& request, std::string_view kind) {
  return cli::ask(worker_, request,
                  [&](const json& event) { return event.value("event", "") == kind; });
}

/// Saves the curve first: on resume it is truncated to the state, but cannot be extended.
Status TrainRun::save() {
  if (Status flushed = curve_.flush(); !flushed) return flushed;
  const Status saved = ask_for(
      {{"request", "save-training"},
       {"path", fs::absolute(arguments_.in_folder(training_state_file)).string()},
       {"metadata", {{"settings", ready_.settings.dump()}, {"kept", to_json(kept_).dump()}}}},
      "training-saved");
  if (saved && arguments_.events) print_event({{"event", "saved"}, {"step", done_}});
  return saved;
}

Result<double> TrainRun::validate() {
  if (Status loaded = ask_for({{"request", "model-so-far"}}, "model"); !loaded)
    return tl::unexpected(loaded.error());
  auto out = WrittenFile::beside(arguments_.in_folder(validation_file));
  if (!out) return tl::unexpected(out.error());
  Validation& validation = *ready_.validation;
  RerankedPairs pairs(ready_.model, validation.run, validation_depth, validation.texts,
                      LongDocuments::first_p);
  ScoreOptions options;
  options.keeps_part = false;
  ScoreRun run(ready_.model, worker_, pairs, false,
               ScoreLines(ScoreFormat::trec, "validation", {.best_of_passages = true}), &*out,
               never_interrupted, options);
  if (Status done = run.run(); !done) return tl::unexpected(done.error());
  const auto ranked = effectiveness::TrecRun::read(arguments_.in_folder(validation_file));
  if (!ranked) return tl::unexpected(ranked.error());
  const auto measure = effectiveness::parse_measure("nDCG@10");
  if (!measure) return tl::unexpected(measure.error());
  return effectiveness::evaluate(*ranked, validation.qrels, {*measure}, {}).mean(0);
}

// The first of equal steps is kept: it has the fewest updates.
Result<bool> TrainRun::keep_if_best(double ndcg) {
  if (!arguments_.keeps_best() || (kept_ && ndcg <= kept_->ndcg)) return false;
  if (Status kept = ask_for({{"request", "keep-weights"}}, "weights-kept"); !kept)
    return tl::unexpected(kept.error());
  kept_ = KeptStep{.step = done_, .ndcg = ndcg};
  return true;
}

TrainedAttention TrainRun::attention() const {
  const ScoringModel& model = ready_.model;
  const bool built_in =
      std::ranges::find(built_in_patterns(), model.pattern) != built_in_patterns().end();
  return {.pattern = built_in ? model.pattern.name : "",
          .window = model.window,
          .most_query_tokens = model.limits.most_query_tokens,
          .positions = model.shape.positions,
          .is_one_text = model.options.contains(pair_is_one_text),
          .begun_from = model.place.revision.empty() ? std::string() : model.place.words()};
}

Status TrainRun::write_folder() {
  const ScoringModel& model = ready_.model;
  const auto folder = trained_folder(*model.sentence, attention(), model.limits.most_tokens);
  if (!folder) return tl::unexpected(folder.error());
  for (const std::string& name : trained_folder_files()) {
    const fs::path into = arguments_.in_folder(name);
    Status written;
    if (const auto text = folder->texts.find(name); text != folder->texts.end()) {
      written = write_file(into, text->second);
    } else if (const auto from = folder->copied.find(name); from != folder->copied.end()) {
      written = write_copy(from->second, into);
    } else {
      std::error_code failed;
      fs::remove(into, failed);
      if (failed) written = fail("{}: cannot be removed: {}", into.string(), failed.message());
    }
    if (!written) return written;
  }
  return {};
}

Result<ScoringModel> TrainRun::open_folder() const {
  const ModelQuestion& asked = arguments_.model.question;
  ModelQuestion question{.checkpoint = arguments_.out,
                         .implementation = asked.implementation,
                         .dtype = asked.dtype,
                         .device = asked.device,
                         .precision = asked.precision,
                         .only_scores = true};
  if (attention().pattern.empty()) {
    question.pattern = asked.pattern;
    question.window = asked.window;
  }
  return ScoringModel::open(question);
}

Result<std::vector<float>> TrainRun::scores_of(const std::vector<TokenPair>& pairs) {
  std::vector<float> scores;
  for (const TokenPair& pair : pairs) {
    const json request{{"request", "score"},
                       {"cls", ready_.model.tokenizer->cls()},
                       {"items", json::array({pair_json(pair)})}};
    const Status answered = cli::ask(worker_, request, [&](const json& event) {
      if (event.value("event", "") != "score") return false;
      for (const json& score : event.value("scores", json::array())) {
        scores.push_back(score.is_number() ? score.get<float>()
                                           : std::numeric_limits<float>::quiet_NaN());
      }
      return true;
    });
    if (!answered) return tl::unexpected(answered.error());
  }
  if (scores.size() != pairs.size()) return fail("the worker answered other pairs");
  return scores;
}

/// Computes the same scores again; they may differ only by rounding.
Status TrainRun::check_folder() {
  constexpr std::int64_t most_scored = 4096;  // of longer pairs only tokens are compared
  const auto texts = data_.some_pairs();
  if (!texts) return tl::unexpected(texts.error());
  const auto wrong = [&](const std::string& why) {
    return fail(
        "{}: has the trained weights, but the folder as it is read now is not the model that was "
        "trained: {}; do not use it, and report this as an error of attnscope",
        arguments_.out, why);
  };
  const auto in_words = [](const TextPair& pair) {
    return fmt::format("the query '{}' and the document '{}' have", in_a_sentence(pair.query),
                       in_a_sentence(pair.document));
  };
  const auto folder = open_folder();
  if (!folder) return wrong(folder.error().message);
  if (folder->tokenizer->cls() != ready_.model.tokenizer->cls()) return wrong("its [CLS] is other");
  std::vector<TokenPair> pairs;
  std::vector<std::string> names;
  for (const TextPair& text : *texts) {
    const auto encode = [&](const ScoringModel& model) {
      return model.tokenizer->encode(text.query, text.document, model.limits);
    };
    auto wanted = encode(ready_.model);
    if (!wanted) continue;  // no such line can be trained on
    const auto read = encode(*folder);
    if (!read) return wrong(read.error().message);
    if (read->query != wanted->query || read->document != wanted->document)
      return wrong(in_words(text) + " other tokens than in the training");
    if (tokens_of(*wanted) > most_scored) continue;
    pairs.push_back(std::move(*wanted));
    names.push_back(in_words(text));
  }
  std::string implementation;
  const Status trained =
      cli::ask(worker_, {{"request", "model-so-far"}, {"kept", true}}, [&](const json& event) {
        implementation = event.value("implementation", "");
        return event.value("event", "") == "model";
      });
  if (!trained) return trained;
  const auto wanted = scores_of(pairs);
  if (!wanted) return tl::unexpected(wanted.error());
  json request = folder->request;
  request["implementation"] = implementation;
  request["threads"] = ready_.settings["threads"];
  if (Status loaded = ask_for(request, "model"); !loaded) return wrong(loaded.error().message);
  const auto read = scores_of(pairs);
  if (!read) return wrong(read.error().message);
  const double rounding = arguments_.model.question.dtype == "float32" ? 1e-5 : 1e-2;
  for (std::size_t i = 0; i < read->size(); ++i) {
    const double was = (*wanted)[i], is = (*read)[i];
    if ((std::isnan(was) && std::isnan(is)) ||
        std::fabs(was - is) <= rounding * std::max(1.0, std::fabs(was))) {
      continue;
    }
    return wrong(
        fmt::format("{} the score {:.6g}, and had {:.6g} in the training", names[i], is, was));
  }
  return {};
}

/// Writes the weights last: a folder with weights is complete.
Status TrainRun::finish() {
  if (Status written = write_folder(); !written) return written;
  if (Status flushed = curve_.flush(); !flushed) return flushed;
  if (Status written =
          ask_for({{"request", "write-trained"},
                   {"path", fs::absolute(arguments_.in_folder(trained_model_file)).string()}},
                  "trained-written");
      !written) {
    return written;
  }
  if (Status same = check_folder(); !same) return same;
  std::error_code ignored;
  fs::remove(arguments_.in_folder(training_state_file), ignored);
  say_kept();
  say("attnscope: {} has the trained model{}", arguments_.out,
      attention().pattern.empty()
          ? fmt::format("; it is to be used with --pattern {}{}", arguments_.model.question.pattern,
                        ready_.model.window ? " --window " + ready_.model.window->text() : "")
          : "");
  return {};
}

void TrainRun::say_kept() {
  if (!arguments_.validates()) return;
  if (arguments_.events) {
    json event = kept_ ? to_json(kept_) : json{{"step", done_}};
    event["event"] = "kept";
    return print_event(event);
  }
  if (kept_) {
    say("attnscope: the weights of step {} are kept, with the best nDCG@10, {:.4f}", kept_->step,
        kept_->ndcg);
  } else {
    say("attnscope: the weights of step {}, the last, are kept", done_);
  }
}

}  // namespace attnscope::cli
