#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A BERT-family cross-encoder on packed token groups: [CLS], query and document of every pair,
// without padding, its attention by any implementation of the list (Schlatt et al., ECIR 2024,
// Sec. 3). From token ids to scores; layout and plan are compiled inside a call, once for all
// layers.
//
//   auto weights = ModelWeights::random(ModelShape{}, {.seed = 1});
//   auto encoder = CrossEncoder::make(weights, {.pattern = *find_pattern("sparse"),
//                                               .window = Window::of(4)},
//                                               *find_implementation("segment"));
//   Result<ModelOutput> output = (*encoder)->score({.items = {{query, document}}});

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/attention/implementation.h"
#include "engine/checkpoint/model_shape.h"
#include "engine/model/model_weights.h"
#include "engine/pattern/attention_pattern.h"

namespace attnscope {

/// Token ids of pairs. Each query and document ends in its own [SEP].
struct PairBatch {
  struct Item {
    std::span<const std::int32_t> query, document;
  };
  std::vector<Item> items;
  std::int32_t cls = 101;
  /// All items have the same query: where the pattern lets the query see itself alone it is encoded
  /// once for the batch (the paper's independent query).
  bool one_query = false;
};

/// What makes a row of the paper's Table 3, beside the implementation.
struct ModelVariant {
  AttentionPattern pattern;
  std::optional<Window> window;
  /// Global tokens have query, key and value projections of their own (Longformer).
  bool global_projections = false;
  /// The last layer computes only what [CLS] needs: exact, because nothing else is read after it.
  bool cls_only_last_layer = false;
  DType dtype = DType::float32;
  DeviceKind device = DeviceKind::cpu;
  int threads = 1;
};

struct ModelOutput {
  std::vector<float> scores;      // one an item
  std::vector<float> cls_states;  // [items, hidden]: the last layer's output for [CLS]
};

/// Work of one call, counted: linear layers, attention's useful work over all layers, embeddings.
struct ModelWork {
  double linear_flop = 0, attention_flop = 0;  // useful
  double executed_attention_flop = 0;
  double exponentials = 0;
  double least_bytes = 0;  // weights once, token states in and out of every layer
};

/// What a layer's attention was given: [tokens, heads, head_dim], packed, float32 copies.
struct CapturedLayer {
  std::int64_t layer = 0;
  std::vector<float> q, k, v;
  std::vector<float> q_global{}, k_global{}, v_global{};  // of models with global projections
};

class CrossEncoder {
 public:
  /// Errors: weights without what the variant needs, an implementation that does not take it.
  [[nodiscard]] static Result<std::unique_ptr<CrossEncoder>> make(
      const std::shared_ptr<const ModelWeights>& weights, ModelVariant variant,
      const Implementation& implementation);
  CrossEncoder(const CrossEncoder&) = delete;
  CrossEncoder& operator=(const CrossEncoder&) = delete;
  virtual ~CrossEncoder() = default;

  /// Ok, or the reason why pairs of these sizes cannot be scored.
  [[nodiscard]] virtual Status supports(const PairBatch& batch) const = 0;
  /// Bytes a call needs beside the weights, at its peak.
  [[nodiscard]] virtual Result<std::int64_t> predicted_peak_bytes(const PairBatch& batch) const = 0;
  [[nodiscard]] virtual Result<ModelWork> work(const PairBatch& batch) const = 0;
  /// Errors: an id outside the vocabulary, more tokens than positions (with the numbers).
  [[nodiscard]] virtual Result<ModelOutput> score(const PairBatch& batch) = 0;
  /// The same of one item, handing every layer's queries, keys and values out as it goes.
  [[nodiscard]] virtual Result<ModelOutput> inspect(
      const PairBatch::Item& item, std::int32_t cls,
      const std::function<void(const CapturedLayer&)>& each_layer) = 0;

 protected:
  CrossEncoder() = default;
};

/// Whether the query of such a pattern sees itself alone, so that one encoding serves all
/// documents.
[[nodiscard]] bool has_independent_query(const AttentionPattern& pattern);

/// The float64 model with the oracle's mask, pair by pair (DESIGN 5.1): what every other is held
/// against. Of one item: its [CLS] state [hidden] and its score.
struct ReferenceOutput {
  double score = 0;
  std::vector<double> cls_state;
};
[[nodiscard]] Result<ReferenceOutput> reference_score(const ModelWeights& weights,
                                                      const ModelVariant& variant,
                                                      const PairBatch::Item& item,
                                                      std::int32_t cls);

/// How far states of a right computation in that dtype may be off, over the largest of the
/// reference's.
[[nodiscard]] double state_error_bound(DType dtype, std::int64_t layers);

}  // namespace attnscope
