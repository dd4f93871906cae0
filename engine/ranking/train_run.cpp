// SPDX-License-Identifier: Apache-2.0
#include "engine/ranking/train_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <system_error>
#include <utility>

#include "base/open_file.h"
#include "base/sentences.h"
#include "base/written_file.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/hub_cache.h"
#include "engine/checkpoint/trained_folder.h"
#include "engine/effectiveness/measures.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/ranking/score_run.h"
#include "engine/ranking/text_scorer.h"
#include "engine/worker/ask.h"

namespace attnscope {

namespace {

namespace fs = std::filesystem;

/// An interrupt does not cancel a step: the step is finished, then saved.
const std::atomic<int> never_interrupted = 0;

/// Replaces an existing file instead of writing into it.
Status write_copy(const fs::path& from, const fs::path& into) {
  const auto read = MappedFile::open(from);
  if (!read) return tl::unexpected(read.error());
  auto file = WrittenFile::next_to(into);
  if (!file) return tl::unexpected(file.error());
  file->write(read->bytes());
  return file->commit();
}

protocol::BeginTrainingRequest begin_request(const TrainRunOptions& options,
                                             const ReadyToTrain& ready, int threads) {
  protocol::BeginTrainingRequest request{.model = ready.model.request,
                                         .objective = options.objective(),
                                         .learning_rate = options.learning_rate,
                                         .warm_up = options.warm_up_steps(),
                                         .steps = options.steps,
                                         .schedule = options.schedule,
                                         .weight_decay = options.weight_decay,
                                         .clip = options.clip,
                                         .recompute = options.recompute,
                                         .seed = options.shape.seed};
  request.model.threads = threads;
  if (ready.before.is_there)
    request.resume = fs::absolute(options.in_folder(training_state_file)).string();
  return request;
}

}  // namespace

Status check_training(const TrainRunOptions& options) {
  const int objectives = static_cast<int>(options.margin_mse) + static_cast<int>(options.ranknet) +
                         static_cast<int>(options.localized_ce);
  if (objectives != 1) return fail("give an objective: --margin-mse, --ranknet or --localized-ce");
  // All groups of an update are read before it begins.
  constexpr std::int64_t most_groups = 1 << 20;
  if (options.shape.batch > most_groups / options.shape.accumulate) {
    return fail(
        "--batch {} times --gradient-accumulation {} is more than the {} groups that one update "
        "may have",
        options.shape.batch, options.shape.accumulate, most_groups);
  }
  if (options.warm_up_steps() > options.steps) {
    return fail(
        "--warmup-steps {} is more than --steps {}, so the learning rate would never be reached; "
        "use fewer, or remove it",
        options.warm_up_steps(), options.steps);
  }
  const auto place = find_checkpoint(options.question.checkpoint);
  if (!place) return tl::unexpected(place.error());
  const auto opened = Checkpoint::open(place->folder);
  if (!opened) return tl::unexpected(opened.error());
  return may_be_trained(*opened, place->name);
}

Result<TrainRun> TrainRun::begin(const TrainRunOptions& options, ReadyToTrain& ready,
                                 WorkerProcess& worker, int threads, TrainingEvents events,
                                 const std::atomic<int>& interrupted) {
  ready.settings["threads"] = threads;
  if (ready.before.is_there) {
    const Status same = same_settings(ready.settings, ready.before.settings,
                                      options.in_folder(training_state_file));
    if (!same) return tl::unexpected(same.error());
  }
  const auto begun = ask(worker, begin_request(options, ready, threads));
  if (!begun) return tl::unexpected(begun.error());
  if (Status prepared = prepare_folder(options, ready.before); !prepared)
    return tl::unexpected(prepared.error());
  auto curve = TrainingCurveFile::resume(options.in_folder(training_curve_file), begun->step);
  if (!curve) return tl::unexpected(curve.error());
  return TrainRun(options, ready, worker, threads, std::move(*curve), begun->step,
                  std::move(events), interrupted);
}

TrainRun::TrainRun(const TrainRunOptions& options, ReadyToTrain& ready, WorkerProcess& worker,
                   int threads, TrainingCurveFile curve, std::int64_t done, TrainingEvents events,
                   const std::atomic<int>& interrupted)
    : options_(options),
      ready_(ready),
      worker_(worker),
      threads_(threads),
      data_(options.shape, ready.model, std::move(ready.file), std::move(ready.texts)),
      curve_(std::move(curve)),
      done_(done),
      kept_(ready.before.kept),
      events_(std::move(events)),
      interrupted_(interrupted) {}

Status TrainRun::run() {
  protocol::TrainStepRequest next;
  bool has_next = false;
  while (done_ < options_.steps && interrupted_ == 0) {
    if (!has_next) {
      auto request = data_.request_of(done_ + 1);
      if (!request) return tl::unexpected(request.error());
      next = std::move(*request);
    }
    if (Status sent = send_request(worker_, next); !sent) return sent;
    // Tokenizes the next step's texts while this step is computed.
    std::optional<Result<protocol::TrainStepRequest>> following;
    if (done_ + 2 <= options_.steps) following = data_.request_of(done_ + 2);
    const auto answer = receive_answer<protocol::TrainStepRequest>(worker_, never_interrupted);
    if (!answer) return tl::unexpected(answer.error());
    if (Status after = take_step(**answer); !after) return after;
    has_next = following.has_value();
    if (!has_next) continue;
    if (!*following) return tl::unexpected(following->error());
    next = std::move(**following);
  }
  if (done_ < options_.steps) return save();
  return finish();
}

Status TrainRun::take_step(const protocol::StepTrained& answer) {
  TrainedStep step{.step = answer.step,
                   .loss = answer.loss,
                   .learning_rate = answer.learning_rate,
                   .gradient_norm = answer.gradient_norm,
                   .tokens = answer.tokens,
                   .seconds = answer.seconds};
  done_ = step.step;
  events_.on_computed(step);
  bool is_best = false;
  if (options_.validates() &&
      (done_ % options_.steps_to_validation() == 0 || done_ == options_.steps)) {
    const auto value = validate();
    if (!value) return tl::unexpected(value.error());
    step.ndcg = *value;
    const auto best = keep_if_best(*value);
    if (!best) return tl::unexpected(best.error());
    is_best = *best;
  }
  if (Status written = curve_.add(step); !written) return written;
  events_.on_recorded(step, is_best);
  const bool saves = done_ % options_.save_every == 0 && done_ < options_.steps;
  return saves ? save() : Status();
}

/// Saves the curve first: on resume it is truncated to the state, but cannot be extended.
Status TrainRun::save() {
  if (Status flushed = curve_.flush(); !flushed) return flushed;
  const auto saved =
      ask(worker_,
          protocol::SaveTrainingRequest{
              .path = fs::absolute(options_.in_folder(training_state_file)).string(),
              .metadata = {{"settings", ready_.settings.dump()}, {"kept", to_json(kept_).dump()}}});
  if (!saved) return tl::unexpected(saved.error());
  events_.on_saved(done_);
  return {};
}

Result<double> TrainRun::validate() {
  if (const auto loaded = ask(worker_, protocol::ModelSoFarRequest()); !loaded)
    return tl::unexpected(loaded.error());
  auto out = WrittenFile::next_to(options_.in_folder(validation_file));
  if (!out) return tl::unexpected(out.error());
  Validation& validation = *ready_.validation;
  RerankedPairs pairs(ready_.model, validation.run, validation_depth, validation.texts,
                      LongDocuments::first_p);
  ScoreOptions options;
  options.keeps_part = false;
  ScoreRun run(ready_.model, worker_, pairs, false,
               ScoreLines(ScoreFormat::trec, "validation", {.best_of_passages = true}),
               {.file = &*out}, never_interrupted, options);
  if (Status done = run.run(); !done) return tl::unexpected(done.error());
  const auto ranked = effectiveness::TrecRun::read(options_.in_folder(validation_file));
  if (!ranked) return tl::unexpected(ranked.error());
  const auto measure = effectiveness::parse_measure("nDCG@10");
  if (!measure) return tl::unexpected(measure.error());
  return effectiveness::evaluate(*ranked, validation.qrels, {*measure}, {}).mean(0);
}

// The first of equal steps is kept: it has the fewest updates.
Result<bool> TrainRun::keep_if_best(double ndcg) {
  if (!options_.keeps_best() || (kept_ && ndcg <= kept_->ndcg)) return false;
  if (const auto kept = ask(worker_, protocol::KeepWeightsRequest()); !kept)
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
    const fs::path into = options_.in_folder(name);
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

Result<std::vector<float>> TrainRun::scores_of(const std::vector<TokenPair>& pairs) {
  std::vector<float> scores;
  for (const TokenPair& pair : pairs) {
    const auto answer =
        ask(worker_, protocol::ScoreRequest{.cls = ready_.model.tokenizer->cls(),
                                            .items = std::vector{score_item(pair)}});
    if (!answer) return tl::unexpected(answer.error());
    scores.insert(scores.end(), answer->scores.begin(), answer->scores.end());
  }
  if (scores.size() != pairs.size()) return fail("the worker answered for other pairs");
  return scores;
}

/// Computes the same scores again; they may differ only by rounding.
Status TrainRun::check_folder() {
  constexpr std::int64_t most_scored = 4096;  // of longer pairs only tokens are compared
  const auto texts = data_.some_pairs();
  if (!texts) return tl::unexpected(texts.error());
  const auto wrong = [&](const std::string& why) {
    return fail(
        "{}: has the trained weights, but the model read from this folder differs from the trained "
        "one: {}; do not use it, and report this as a bug of attnscope",
        options_.out, why);
  };
  const auto in_words = [](const TextPair& pair) {
    return fmt::format("the query '{}' and the document '{}' have", in_a_sentence(pair.query),
                       in_a_sentence(pair.document));
  };
  const ModelQuestion& requested = options_.question;
  ModelQuestion question{.checkpoint = options_.out,
                         .implementation = requested.implementation,
                         .dtype = requested.dtype,
                         .device = requested.device,
                         .precision = requested.precision,
                         .only_scores = true};
  if (attention().pattern.empty()) {
    question.pattern = requested.pattern;
    question.window = requested.window;
  }
  const auto folder = ScoringModel::open(question);
  if (!folder) return wrong(folder.error().message);
  if (folder->tokenizer->cls() != ready_.model.tokenizer->cls())
    return wrong("its [CLS] token differs");
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
      return wrong(in_words(text) + " other tokens than in training");
    if (tokens_of(*wanted) > most_scored) continue;
    pairs.push_back(std::move(*wanted));
    names.push_back(in_words(text));
  }
  const auto trained = ask(worker_, protocol::ModelSoFarRequest{.kept = true});
  if (!trained) return tl::unexpected(trained.error());
  const auto wanted = scores_of(pairs);
  if (!wanted) return tl::unexpected(wanted.error());
  protocol::ModelRequest request = folder->request;
  request.implementation = trained->implementation;
  request.threads = threads_;
  if (const auto loaded = ask(worker_, request); !loaded) return wrong(loaded.error().message);
  const auto read = scores_of(pairs);
  if (!read) return wrong(read.error().message);
  const double rounding = options_.question.dtype == "float32" ? 1e-5 : 1e-2;
  for (std::size_t i = 0; i < read->size(); ++i) {
    const double was = (*wanted)[i], is = (*read)[i];
    if ((std::isnan(was) && std::isnan(is)) ||
        std::fabs(was - is) <= rounding * std::max(1.0, std::fabs(was))) {
      continue;
    }
    return wrong(fmt::format("{} the score {:.6g}, but had {:.6g} in training", names[i], is, was));
  }
  return {};
}

/// Writes the weights last: a folder with weights is complete.
Status TrainRun::finish() {
  if (Status written = write_folder(); !written) return written;
  if (Status flushed = curve_.flush(); !flushed) return flushed;
  const auto written =
      ask(worker_, protocol::WriteTrainedRequest{
                       .path = fs::absolute(options_.in_folder(trained_model_file)).string()});
  if (!written) return tl::unexpected(written.error());
  if (Status same = check_folder(); !same) return same;
  std::error_code ignored;
  fs::remove(options_.in_folder(training_state_file), ignored);
  return {};
}

}  // namespace attnscope
