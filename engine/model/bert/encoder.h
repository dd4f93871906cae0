#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// BERT's body on packed token groups: embeddings and encoder layers, with the attention of any
// implementation that takes the pattern, for whoever puts something on top of it. LibTorch inside.
//
//   const BertEncoder encoder(*weights, variant, implementation, computing);
//   auto stage = encoder.stage(packed.layout, LastLayer::whole);
//   auto states = encoder.run(**stage, encoder.embed(packed), encoder.all_layers());

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/model/bert/attention_stage.h"
#include "engine/model/bert/encoder_layer.h"
#include "engine/model/bert/packed_batch.h"
#include "engine/model/family.h"

namespace attnscope {

/// In what a variant of a model of that shape computes: its linear layers by the fastest route.
[[nodiscard]] Computing computing_of(const ModelVariant& variant, const ModelShape& shape);

/// Word, type and position embeddings, summed and normalised.
class BertEmbeddings {
 public:
  /// `learned` names a tensor [rows, hidden] of vectors that stand in texts like words: ids from
  /// the vocabulary's size on are its rows. Empty: there are none.
  BertEmbeddings(const ModelWeights& weights, const Computing& computing,
                 const std::string& learned = {});
  /// [tokens, hidden].
  [[nodiscard]] at::Tensor operator()(const PackedBatch& batch) const;

 private:
  [[nodiscard]] at::Tensor indices(const std::vector<std::int64_t>& values) const;
  [[nodiscard]] at::Tensor look_up(const at::Tensor& ids) const;

  at::Tensor words_, positions_, types_, learned_;
  Norm norm_;
  std::optional<Linear> project_;  // of embeddings narrower than the layers
};

/// Of which rows the last layer's output is wanted: of all, or of [CLS] (all of its tokens) alone,
/// which is exact where nothing else is read.
enum class LastLayer : std::uint8_t { whole, cls_alone };

/// Layers from the first to before the last, counted from 0.
struct LayerRange {
  std::int64_t first = 0, end = 0;
};

class BertEncoder {
 public:
  /// Its variant's option cls-only-last-layer makes no difference: stages say what they want.
  /// `splits_last`: some stage will ask for [CLS] alone.
  BertEncoder(const ModelWeights& weights, const ModelVariant& variant,
              const Implementation& implementation, const Computing& computing, bool splits_last,
              const std::string& learned = {});

  /// The attention of one call, planned once for all layers; it lives no longer than the encoder.
  /// Errors: what the pattern and the implementation say.
  [[nodiscard]] Result<std::unique_ptr<AttentionStage>> stage(SequenceLayout layout,
                                                              LastLayer last) const;
  /// The attention of each stretch of layers that have one window, in their order.
  struct Stretch {
    LayerRange layers;
    std::unique_ptr<AttentionStage> stage;
  };
  [[nodiscard]] Result<std::vector<Stretch>> stages(const SequenceLayout& layout,
                                                    LastLayer last) const;

  [[nodiscard]] at::Tensor embed(const PackedBatch& batch) const { return embeddings_(batch); }

  using Seen =
      std::function<void(std::int64_t layer, const LayerHeads& local, const LayerHeads* global)>;
  /// `states` [tokens, hidden] through some layers; they are overwritten. Of [CLS] alone, what the
  /// last layer leaves is [its tokens, hidden]. `seen` is told every layer's projections.
  [[nodiscard]] Result<at::Tensor> run(const AttentionStage& stage, at::Tensor states,
                                       LayerRange layers, const Seen& seen = {}) const;

  /// Keys and values that a layer makes of x [tokens, hidden]: [tokens, 2 hidden].
  [[nodiscard]] at::Tensor keys_and_values(std::int64_t layer, const at::Tensor& x) const;

  [[nodiscard]] LayerRange all_layers() const { return {0, shape_.layers}; }
  /// Linear layers, attention and states of some layers.
  [[nodiscard]] ModelWork work(const AttentionStage& stage, LayerRange layers) const;
  /// Of embedding and running it, beside the weights.
  [[nodiscard]] std::int64_t peak_bytes(const AttentionStage& stage) const;

 private:
  [[nodiscard]] ModelWork work_of_layer(const AttentionStage& stage) const;
  [[nodiscard]] ModelWork work_of_cls_layer(const AttentionStage& stage) const;

  ModelShape shape_;
  ModelVariant whole_, cls_alone_;  // stages look at them
  /// Of stretches of layers with one window: the same variants with that window.
  struct Variants {
    LayerRange layers;
    ModelVariant whole, cls_alone;
  };
  std::deque<Variants> by_window_;
  bool global_;
  const Implementation& implementation_;
  BertEmbeddings embeddings_;
  std::vector<EncoderLayer> layers_;
};

/// Layers of one window after the other, and that window: a single stretch where they do not
/// differ.
[[nodiscard]] std::vector<std::pair<LayerRange, std::optional<Window>>> window_stretches(
    const ModelVariant& variant, std::int64_t layers);

/// Hands a layer's queries, keys and values of all tokens to `show`; both outlive it.
[[nodiscard]] BertEncoder::Seen shown_of(const AttentionStage& stage, const Show& show);

/// sum += times * work.
void add(const ModelWork& work, double times, ModelWork& sum);

/// How far a right computation of BERT's states may be off (Family::error_bound).
[[nodiscard]] double bert_error_bound(DType dtype, const ModelShape& shape);

/// The same weights with as many positions, the ones between the first and the last by linear
/// interpolation (Schlatt et al., ECIR 2024, Sec. 3.5).
[[nodiscard]] std::shared_ptr<const ModelWeights> with_positions(const ModelWeights& weights,
                                                                 std::int64_t positions);

/// By which the attention of such a model can be computed, the first choice first.
[[nodiscard]] std::vector<std::string_view> bert_implementations();

/// Whether the attention of such a model is computed by that implementation: asked of a small pair.
[[nodiscard]] Status supports_attention(const ModelVariant& variant, const ModelShape& shape,
                                        std::string_view implementation);

/// Values on the host, row by row.
[[nodiscard]] std::vector<float> floats_of(const at::Tensor& tensor);

}  // namespace attnscope
