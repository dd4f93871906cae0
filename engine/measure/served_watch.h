#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Guards timed calls that another process computes (docs/python.md): inputs change before each
// call, so that cached results are useless, and results are compared at times that the process
// cannot predict.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "engine/model/family.h"
#include "engine/model/served_model.h"
#include "engine/proof/call.h"

namespace attnscope::measure {

/// Guards calls of attention. Fetched outputs are compared completely, and the time of a fetch is
/// limited to that of a plain fetch, so that no work is deferred to it.
///
///   ServedAttentionWatch watch(tensors, rows);  // outputs are those of the call that was checked
///   watch.enter(prepared);                      // a sample begins
///   watch.before_call(prepared);                // untimed
///   ... the timed call ...
///   Verdict verdict = watch.judge(prepared);    // last call; restores the inputs
///   watch.leave(prepared);
class ServedAttentionWatch {
 public:
  /// `tensors` and `rows` must outlive it.
  ServedAttentionWatch(const CallTensors& tensors, const RowWatch& rows);

  void enter(PreparedAttention& prepared);
  void before_call(PreparedAttention& prepared);
  /// The verdict on the last call's output, or the failure of an earlier one.
  [[nodiscard]] Verdict judge(PreparedAttention& prepared);
  /// Call it also after a call that threw. Stops the process. Returns false if inputs were changed:
  /// the caller must place them again.
  [[nodiscard]] bool leave(PreparedAttention& prepared);

 private:
  /// Fetches and compares the outputs of the last call.
  void inspect(PreparedAttention& prepared);
  /// Records the first failure and ignores later ones.
  void record(Verdict verdict);
  /// Restores the original inputs and verifies them.
  void restore();

  const CallTensors& tensors_;
  const RowWatch& rows_;
  std::vector<std::byte> output_;
  ChannelFactors plain_, factors_;
  std::uint64_t input_hash_ = 0;  // fingerprint of the inputs at this placement
  std::mt19937_64 random_{std::random_device{}()};
  Verdict verdict_;
  bool is_restored_ = true, has_called_ = false, has_changed_inputs_ = false;
  int fetches_ = 0;
  static constexpr double never = std::numeric_limits<double>::infinity();
  double shortest_fetch_ns_ = never, shortest_touch_ns_ = never;
};

/// Guards calls of a whole model. Words are replaced with random ones before each call; the scores
/// must be numbers and may not be those of the call before. For some samples they are compared with
/// this program's scores for the same weights or, for unknown weights, with those of a second call.
class ServedModelWatch {
 public:
  /// A call: its batches, and the scores that it returned.
  struct Call {
    std::vector<PairBatch>& batches;
    const std::vector<float>& scores;
  };

  explicit ServedModelWatch(ServedOffer& offer) : offer_(offer) {}

  [[nodiscard]] ServedOffer& offer() const { return offer_; }
  /// The model of the current placement; null until it is loaded.
  [[nodiscard]] ServedModel* model() const { return model_; }
  void set_model(ServedModel* model);
  /// To be called when the batches of later calls are different ones.
  void release_texts() { words_.clear(); }
  /// To be called after every call.
  void record(const std::vector<float>& scores);

  /// Replaces the words of all texts of the latest call.
  void before_call(const Call& latest);
  /// The verdict on the latest call of a sample. `checked` is the output that was compared with the
  /// reference; `call_again` computes the same batches once more and returns the scores.
  [[nodiscard]] Verdict judge_sample(const Call& latest, const ModelOutput& checked, double bound,
                                     const std::function<const std::vector<float>&()>& call_again);

  /// Compares the scores of a second call for the same words.
  [[nodiscard]] static Verdict judge_repeated(const ModelOutput& checked,
                                              const std::vector<float>& scores, double bound);
  /// The verdict on the documents between the first and the last, which the reference covers: they
  /// are compared with this program's scores for the same weights, whose own error is at most
  /// `bound`.
  [[nodiscard]] Verdict judge_between(const std::vector<PairBatch>& batches,
                                      const ModelOutput& checked, double bound) const;

 private:
  void count_repeated_scores(const std::vector<float>& scores);
  [[nodiscard]] std::optional<std::vector<float>> computed_here(
      const std::vector<PairBatch>& batches) const;
  [[nodiscard]] std::string wrong_of_equal_words(const Call& latest) const;

  ServedOffer& offer_;
  ServedModel* model_ = nullptr;
  bool had_equal_words_ = false;                  // at this placement
  bool has_lost_a_score_ = false;                 // a call returned a NaN
  std::vector<float> scores_before_;              // of the call before the latest, in order
  int repeated_calls_ = 0;                        // timed calls whose scores did not change
  std::vector<std::vector<std::int32_t>> words_;  // of timed calls: the query first
  std::mt19937_64 random_{std::random_device{}()};
};

}  // namespace attnscope::measure
