// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/served_watch.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "engine/attention/served/served_process.h"
#include "engine/measure/model_contenders.h"
#include "engine/measure/workload.h"

namespace attnscope::measure {
namespace {

// Samples of short calls have about 70 calls: one is checked in addition to the last.
constexpr std::uint64_t calls_per_inspection = 64;
constexpr std::uint64_t samples_per_inspection = 4;  // of a model
// A fetch copies one tensor and touching reads all: the minimum of a few fetches is shorter, also
// on a busy machine.
constexpr int least_fetches = 5;
constexpr double touches_a_fetch = 4;
constexpr double fetch_ns = 5e5;

template <typename Action>
double nanoseconds_of(const Action& action) {
  const auto start = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

constexpr const char* wrong_when_timed =
    "it was correct when it was checked, but wrong in the timed calls: ";
constexpr const char* returns_cached_scores =
    "it returns cached scores: different documents have exactly the same scores";

}  // namespace

ServedAttentionWatch::ServedAttentionWatch(const CallTensors& tensors, const RowWatch& rows)
    : tensors_(tensors),
      rows_(rows),
      plain_(ChannelFactors::plain(tensors.shape())),
      factors_(plain_) {
  const std::byte* const output = tensors.on_host().o.data;
  output_.assign(output, output + tensors.shape().tensor_bytes().value());
}

void ServedAttentionWatch::enter(PreparedAttention& prepared) {
  tensors_.poison(Pass::both);
  input_hash_ = tensors_.hash_of_inputs(Pass::both);
  is_restored_ = has_called_ = false;
  require(prepared.keep_outputs(true));
}

void ServedAttentionWatch::before_call(PreparedAttention& prepared) {
  if (has_called_ && random_() % calls_per_inspection == 0) {
    inspect(prepared);
    tensors_.poison(Pass::both);
    require(prepared.keep_outputs(true));
  }
  const ChannelFactors next = ChannelFactors::drawn(tensors_.shape(), [this] { return random_(); });
  tensors_.change_inputs(factors_, next);
  factors_ = next;
  shortest_touch_ns_ =
      std::min(shortest_touch_ns_, nanoseconds_of([&] { require(prepared.touch_inputs()); }));
  has_called_ = true;  // the timed call is next
}

void ServedAttentionWatch::inspect(PreparedAttention& prepared) {
  ++fetches_;
  shortest_fetch_ns_ =
      std::min(shortest_fetch_ns_, nanoseconds_of([&] { require(prepared.keep_outputs(false)); }));
  record(rows_.judge(tensors_.on_device(), &factors_));
  const DType dtype = tensors_.shape().dtype;
  record(rows_.judge_distance(tensors_.distance_of_output(output_, factors_), dtype));
  if (const char* name = tensors_.not_finite(Pass::both); name != nullptr)
    record({.error = {}, .wrong = fmt::format("its {} has values that are not finite", name)});
  if (fetches_ >= least_fetches &&
      shortest_fetch_ns_ > fetch_ns + touches_a_fetch * shortest_touch_ns_) {
    record({.error = {},
            .wrong = fmt::format("it still computes after its calls have returned: fetching an "
                                 "output took {:.3g} ms at least, and reading all inputs {:.3g} ms",
                                 shortest_fetch_ns_ / 1e6, shortest_touch_ns_ / 1e6)});
  }
}

void ServedAttentionWatch::record(Verdict verdict) {
  if (verdict_.wrong.empty() && !verdict.wrong.empty()) {
    verdict_ = std::move(verdict);
    verdict_.wrong = wrong_when_timed + verdict_.wrong;
  }
}

void ServedAttentionWatch::restore() {
  if (std::exchange(is_restored_, true)) return;
  tensors_.change_inputs(factors_, plain_);
  factors_ = plain_;
  has_changed_inputs_ = tensors_.hash_of_inputs(Pass::both) != input_hash_;
  if (has_changed_inputs_ && verdict_.wrong.empty())
    verdict_.wrong = "it changed its inputs after it was checked";
}

Verdict ServedAttentionWatch::judge(PreparedAttention& prepared) {
  inspect(prepared);
  restore();
  return verdict_;
}

bool ServedAttentionWatch::leave(PreparedAttention& prepared) {
  restore();
  try {
    static_cast<void>(prepared.keep_outputs(false));
  } catch (const ServedProcessEnded&) {  // the next call restarts it
  }
  prepared.stop();
  return !has_changed_inputs_;
}

void ServedModelWatch::set_model(ServedModel* model) {
  model_ = model;
  if (model == nullptr) had_equal_words_ = false;
}

void ServedModelWatch::record(const std::vector<float>& scores) {
  has_lost_a_score_ |=
      !std::ranges::all_of(scores, [](float score) { return std::isfinite(score); });
}

void ServedModelWatch::before_call(const Call& latest) {
  count_repeated_scores(latest.scores);
  if (words_.empty()) {
    std::size_t texts = 1;
    for (const PairBatch& batch : latest.batches) texts += batch.items.size();
    words_.reserve(texts);  // items point into it
    const auto copy_of = [&](TokenIds text) -> TokenIds {
      return words_.emplace_back(text.begin(), text.end());
    };
    const TokenIds query = copy_of(latest.batches.front().items.front().query);
    for (PairBatch& batch : latest.batches) {
      for (PairBatch::Item& item : batch.items) {
        item.query = query;
        item.document = copy_of(item.document);
      }
    }
  }
  for (std::vector<std::int32_t>& text : words_) {
    const std::uint64_t seed = random_();
    for (std::size_t i = 0; i + 1 < text.size(); ++i) text[i] = random_word(seed, i);
  }
}

/// Compares the latest call with the one before, whose words were different.
void ServedModelWatch::count_repeated_scores(const std::vector<float>& scores) {
  if (has_lost_a_score_) return;
  const bool has_words =
      std::ranges::any_of(words_, [](const auto& text) { return text.size() > 1; });
  std::vector<float> in_order = scores;
  std::ranges::sort(in_order);  // pairs have different positions in every call
  if (has_words && in_order == scores_before_) ++repeated_calls_;
  scores_before_ = std::move(in_order);
}

Verdict ServedModelWatch::judge_sample(
    const Call& latest, const ModelOutput& checked, double bound,
    const std::function<const std::vector<float>&()>& call_again) {
  if (has_lost_a_score_) return {.error = {}, .wrong = "a score is not a number"};
  count_repeated_scores(latest.scores);
  scores_before_.clear();  // words are replaced next: the latest call is not compared twice
  // Rounded scores may be equal by chance.
  if (repeated_calls_ >= 2) return {.error = {}, .wrong = returns_cached_scores};
  const bool is_first = !std::exchange(had_equal_words_, true);
  if (!is_first && random_() % samples_per_inspection != 0) return {};
  const ModelOutput timed{.scores = latest.scores, .states = checked.states};
  Verdict verdict;
  if (const auto own = computed_here(latest.batches)) {
    const double error = error_of_scores(timed, *own);
    verdict.error = {.error = error, .bound = 2 * bound};
    if (error > 2 * bound) {
      verdict.wrong = fmt::format(
          "{}a score of other words differs from what this program computes: the relative error is "
          "{:.3g}, above {:.3g}",
          wrong_when_timed, error, 2 * bound);
    }
  } else {
    verdict = judge_repeated(timed, call_again(), bound);
  }
  if (is_first && verdict.wrong.empty()) verdict.wrong = wrong_of_equal_words(latest);
  return verdict;
}

Verdict ServedModelWatch::judge_repeated(const ModelOutput& checked,
                                         const std::vector<float>& scores, double bound) {
  const double error = error_of_scores(checked, scores);
  Verdict verdict{{.error = error, .bound = bound}, ""};
  if (error > bound) {
    verdict.wrong =
        fmt::format("its scores of the same ids differ in its next call: by {:.3g}, above {:.3g}",
                    error, bound);
  }
  return verdict;
}

Verdict ServedModelWatch::judge_between(const std::vector<PairBatch>& batches,
                                        const ModelOutput& checked, double bound) const {
  const auto own = computed_here(batches);
  if (!own) return {};
  const double error = error_of_scores(checked, *own);
  if (error <= 2 * bound) return {};
  return {{.error = error, .bound = 2 * bound},
          fmt::format("a score between the first and the last differs from what this program "
                      "computes: the relative error is {:.3g}, above {:.3g}",
                      error, 2 * bound)};
}

/// This program's scores; nothing if the weights are unknown or not supported here.
std::optional<std::vector<float>> ServedModelWatch::computed_here(
    const std::vector<PairBatch>& batches) const {
  if (has_own_weights(offer_)) return std::nullopt;
  std::vector<float> scores;
  for (const PairBatch& batch : batches) {
    const auto own = model_->computed_here(batch);
    if (!own) return std::nullopt;
    scores.insert(scores.end(), own->scores.begin(), own->scores.end());
  }
  return scores;
}

/// Once per placement: all words of a document are replaced with its first one, and documents with
/// different tokens must have different scores, if only in the last digits. This detects cached
/// results, also for unknown weights and for 8 bits, whose tolerance is wider than the differences
/// between documents.
std::string ServedModelWatch::wrong_of_equal_words(const Call& latest) const {
  const std::vector<float>& scores = latest.scores;
  std::size_t position = 0, others = 0, same = 0;
  bool differ_among_themselves = false;
  for (const PairBatch& batch : latest.batches) {
    PairBatch with_others = batch;
    std::vector<std::vector<std::int32_t>> documents;
    documents.reserve(batch.items.size());
    for (PairBatch::Item& item : with_others.items) {
      auto& document = documents.emplace_back(item.document.begin(), item.document.end());
      if (!document.empty()) std::fill(document.begin(), document.end() - 1, document.front());
      item.document = document;
    }
    const auto output = model_->score(with_others);
    require(output.map([](const ModelOutput&) {}));
    for (std::size_t i = 0; i < batch.items.size(); ++i, ++position) {
      differ_among_themselves |= scores[position] != scores.front();
      if (std::ranges::equal(batch.items[i].document, documents[i])) continue;
      ++others;
      // Compared with all documents: pairs have different positions in every call.
      same += std::ranges::find(scores, output->scores[i]) != scores.end() ? 1 : 0;
    }
  }
  if (others > 0 && same == others) return returns_cached_scores;
  if (others > 1 && !differ_among_themselves)
    return fmt::format("all {} documents have exactly the same score", position);
  return {};
}

}  // namespace attnscope::measure
