#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// BERT's body on packed token groups: embeddings and encoder layers, with any attention
// implementation that supports the pattern. The caller adds a head. Uses LibTorch.
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

#include "engine/model/bert/encoder_layer.h"
#include "engine/model/bert/packed_batch.h"
#include "engine/model/family.h"

namespace attnscope {

/// Dtype and device of a variant for a model of that shape, with the fastest route for its linear
/// layers.
[[nodiscard]] Computing computing_of(const ModelVariant& variant, const ModelShape& shape);

/// Word, type and position embeddings, summed and normalised.
class BertEmbeddings {
 public:
  /// `learned` names a tensor [rows, hidden] of vectors that occur in texts like words: ids from
  /// the vocabulary's size on select its rows. Empty: there are none.
  BertEmbeddings(const ModelWeights& weights, const Computing& computing,
                 const std::string& learned = {});
  /// Returns [tokens, hidden].
  [[nodiscard]] at::Tensor operator()(const PackedBatch& batch) const;

 private:
  [[nodiscard]] at::Tensor indices(const std::vector<std::int64_t>& values) const;
  [[nodiscard]] at::Tensor look_up(const at::Tensor& ids) const;

  at::Tensor words_, positions_, types_, learned_;
  Norm norm_;
  std::optional<Linear> project_;  // if embeddings are narrower than the layers
};

/// Rows of the last layer's output: all, or all [CLS] tokens alone, which is exact if nothing else
/// is read.
enum class LastLayer : std::uint8_t { whole, cls_alone };

/// Layers in the half-open range [first, end), counted from 0.
struct LayerRange {
  std::int64_t first = 0, end = 0;
};

class BertEncoder {
 public:
  /// The variant's option cls-only-last-layer has no effect: each stage selects it. `splits_last`:
  /// some stage will compute [CLS] alone.
  BertEncoder(const ModelWeights& weights, const ModelVariant& variant,
              const Implementation& implementation, const Computing& computing, bool splits_last,
              const std::string& learned = {});

  /// The attention of one call, planned once for all layers; the encoder must outlive it. Errors:
  /// those of the pattern and of the implementation.
  [[nodiscard]] Result<std::unique_ptr<AttentionStage>> stage(SequenceLayout layout,
                                                              LastLayer last) const;
  /// Attention of each range of consecutive layers with the same window, in order.
  struct StagedLayers {
    LayerRange layers;
    std::unique_ptr<AttentionStage> stage;
  };
  using Stages = std::vector<StagedLayers>;
  [[nodiscard]] Result<Stages> stages(const SequenceLayout& layout, LastLayer last) const;

  [[nodiscard]] at::Tensor embed(const PackedBatch& batch) const { return embeddings_(batch); }

  using Seen =
      std::function<void(std::int64_t layer, const LayerHeads& local, const LayerHeads* global)>;
  /// Runs `states` [tokens, hidden] through the layers and overwrites them. For [CLS] alone,
  /// returns [CLS tokens, hidden]. `seen` receives every layer's projections.
  [[nodiscard]] Result<at::Tensor> run(const AttentionStage& stage, at::Tensor states,
                                       LayerRange layers, const Seen& seen = {}) const;
  [[nodiscard]] Result<at::Tensor> run(const Stages& stages, at::Tensor states,
                                       const Show& show = {}) const;

  /// Keys and values of a layer for x [tokens, hidden]: [tokens, 2 hidden].
  [[nodiscard]] at::Tensor keys_and_values(std::int64_t layer, const at::Tensor& x) const;

  [[nodiscard]] LayerRange all_layers() const { return {0, shape_.layers}; }
  /// Work of some layers: linear layers, attention and states.
  [[nodiscard]] ModelWork work(const AttentionStage& stage, LayerRange layers) const;
  [[nodiscard]] ModelWork work(const Stages& stages) const;
  /// Peak memory in bytes of embedding and all layers, in addition to the weights.
  [[nodiscard]] std::int64_t peak_bytes(const AttentionStage& stage) const;
  [[nodiscard]] std::int64_t peak_bytes(const Stages& stages) const;

 private:
  [[nodiscard]] ModelWork work_of_layer(const AttentionStage& stage) const;
  [[nodiscard]] ModelWork work_of_cls_layer(const AttentionStage& stage) const;

  ModelShape shape_;
  ModelVariant whole_, cls_alone_;  // stages refer to them
  /// The same variants with the window of each range of layers.
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

/// Ranges of consecutive layers with the same window, and that window: a single range if all layers
/// have the same.
[[nodiscard]] std::vector<std::pair<LayerRange, std::optional<Window>>> layers_by_window(
    const ModelVariant& variant, std::int64_t layers);

/// Passes a layer's queries, keys and values of all tokens to `show`; both must outlive the result.
[[nodiscard]] BertEncoder::Seen shown_of(const AttentionStage& stage, const Show& show);

/// sum += times * work.
void add(const ModelWork& work, double times, ModelWork& sum);

/// Largest permitted error of BERT's states (Family::error_bound).
[[nodiscard]] double bert_error_bound(DType dtype, const ModelShape& shape);

/// The same weights with `positions` position embeddings, linearly interpolated between the first
/// and the last (Schlatt et al., ECIR 2024, Sec. 3.5).
[[nodiscard]] std::shared_ptr<const ModelWeights> with_positions(const ModelWeights& weights,
                                                                 std::int64_t positions);

/// Implementations of such a model's attention, the preferred one first.
[[nodiscard]] std::vector<std::string_view> bert_implementations();

/// Whether that implementation computes such a model's attention: tests a small pair.
[[nodiscard]] Status supports_attention(const ModelVariant& variant, const ModelShape& shape,
                                        std::string_view implementation);

/// Values on the host, in row-major order.
[[nodiscard]] std::vector<float> floats_of(const at::Tensor& tensor);

}  // namespace attnscope
