#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A cross-encoder's checkpoint as Hugging Face lays it out: a folder with config.json and
// model.safetensors, or its shards beside model.safetensors.index.json. Files are mapped, not read;
// every tensor is accounted for before any is used.
//
//   Result<Checkpoint> checkpoint = Checkpoint::open("ms-marco-MiniLM-L-6-v2");
//   checkpoint->tensors().layers[0].query.weight;   // TensorView, [hidden, hidden]

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/checkpoint/model_shape.h"
#include "engine/pattern/window.h"
#include "engine/safetensors/safetensors.h"
#include "kernels/base/result.h"

namespace attnscope {

/// y = x weight^T + bias; weight [out, in], bias [out]; dtype F32, F16 or BF16.
struct LinearViews {
  TensorView weight, bias;
};

/// LayerNorm's factor and summand, [hidden] each.
struct NormViews {
  TensorView weight, bias;
};

/// Longformer's own projections for global tokens.
struct GlobalProjectionViews {
  LinearViews query, key, value;
};

struct LayerViews {
  LinearViews query, key, value;
  std::optional<GlobalProjectionViews> global;
  LinearViews attention_output;
  NormViews attention_norm;
  LinearViews intermediate, output;  // the feed-forward layers
  NormViews output_norm;
};

struct ModelViews {
  TensorView words;      // [vocabulary, hidden]
  TensorView positions;  // [first_position + positions, hidden]
  TensorView types;      // [types, hidden]
  NormViews embedding_norm;
  std::vector<LayerViews> layers;
  std::optional<LinearViews> pooler;      // [hidden, hidden], followed by tanh
  std::optional<LinearViews> classifier;  // [1, hidden]; absent: no scores can be computed
};

class Checkpoint {
 public:
  /// Errors, each in one sentence: a file that is missing or no JSON, a model type, an activation
  /// or position embeddings that are not BERT's, tensors that are missing, that nothing takes, or
  /// whose shape contradicts config.json (all of them named), a hostile offset.
  [[nodiscard]] static Result<Checkpoint> open(const std::filesystem::path& folder);
  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;
  ~Checkpoint();

  [[nodiscard]] const ModelShape& shape() const;
  /// Alive as long as the checkpoint.
  [[nodiscard]] const ModelViews& tensors() const;
  [[nodiscard]] const std::string& architecture() const;  // "BertForSequenceClassification"
  /// The built-in pattern it was trained with, as its config says: full, sparse,
  /// sparse-without-independent-query, longformer.
  [[nodiscard]] const std::string& pattern() const;
  /// Of that pattern, one-sided; absent where it has none.
  [[nodiscard]] std::optional<Window> window() const;
  /// With its [SEP]: what the training cut queries to; 0 where nothing is said of it.
  [[nodiscard]] std::int64_t most_query_tokens() const;
  /// Tensors that are in the files and no part of a cross-encoder (position_ids, a pre-training
  /// head).
  [[nodiscard]] const std::vector<std::string>& left_out() const;

 private:
  struct Opened;
  explicit Checkpoint(std::unique_ptr<Opened> opened);
  std::unique_ptr<Opened> opened_;
};

}  // namespace attnscope
