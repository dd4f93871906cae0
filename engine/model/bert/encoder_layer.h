#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One encoder layer: its weights in the form used for computing, everything except attention
// (EncoderLayer), and the attention of all layers in one call (AttentionStage), which compiles and
// prepares the plan once; every layer then runs it on its own projections. A plan can be restricted
// to some of its rows: Longformer's global rows are computed separately from the others, and the
// last layer may compute [CLS] alone. Uses LibTorch.
//
//   AttentionPlan last = with_rows(plan, marked(cls_rows(layout), layout.tokens()));

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/attention/implementation.h"
#include "engine/model/family.h"
#include "engine/model/linear.h"
#include "engine/model/model_weights.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/sequence_layout.h"
#include "kernels/cpu/linear.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope {

/// Prefix of a layer's tensor names.
[[nodiscard]] std::string name_of_layer(std::int64_t number);

/// The projections of a layer. `all` computes queries, keys and values in one product; a last layer
/// for [CLS] alone has `query` and `key_value` instead.
struct Projections {
  std::optional<Linear> all;               // [3 hidden, hidden]
  std::optional<Linear> query, key_value;  // [hidden, hidden], [2 hidden, hidden]
};

/// A layer's weights by their purpose.
struct LayerParts {
  LinearWeights all;  // queries, keys and values, fused
  LinearWeights attention_output, intermediate, output;
  NormWeights attention_norm, output_norm;
  double norm_epsilon = 0;
  cpu::Activation activation = cpu::Activation::gelu;  // of the wide layer
};

class EncoderLayer {
 public:
  EncoderLayer(const LayerParts& parts, const Computing& computing);
  /// `split`: only [CLS] of the layer is computed. `global`: Longformer's separate projections.
  EncoderLayer(const ModelWeights& weights, std::int64_t number, const Computing& computing,
               bool split, bool global);

  [[nodiscard]] const Projections& projections() const { return projections_; }
  /// Projections of global tokens; `query` and `key_value`.
  [[nodiscard]] const Projections& global() const { return global_; }

  /// The part of the layer after attention: output projection, both residual connections,
  /// feed-forward network. `o` and `x` are [tokens, hidden]; the result overwrites x. Processes
  /// tokens_at_once tokens at a time, so that the intermediate values stay in the caches.
  void finish(const at::Tensor& o, at::Tensor& x) const;
  static constexpr std::int64_t tokens_at_once = 512;

 private:
  Projections projections_, global_;
  cpu::Activation activation_ = cpu::Activation::gelu;
  Linear attention_output_;
  Norm attention_norm_;
  Linear intermediate_, output_;
  Norm output_norm_;
};

/// O(tokens of the plan). Omitted rows become tasks without segments.
[[nodiscard]] AttentionPlan with_rows(const AttentionPlan& plan, const std::vector<bool>& keeps);

/// Each item also attends to one token of each other item: the first (`place` 0) or the second.
[[nodiscard]] AttentionPlan with_other_items(const AttentionPlan& plan,
                                             const SequenceLayout& layout, std::int64_t place);

/// The [CLS] of every item, ascending.
[[nodiscard]] std::vector<std::int64_t> cls_rows(const SequenceLayout& layout);

/// Ascending: tokens of groups that attend to all tokens of all groups and are attended to by all -
/// the groups in a pattern's "global" list.
[[nodiscard]] std::vector<std::int64_t> global_rows(const AttentionPattern& pattern,
                                                    const SequenceLayout& layout);

/// [tokens], true where listed.
[[nodiscard]] std::vector<bool> marked(const std::vector<std::int64_t>& rows, std::int64_t tokens);

/// Queries, keys and values of a layer, each [tokens, heads, head_dim] with arbitrary strides
/// except the last, which is 1.
struct LayerHeads {
  at::Tensor q, k, v;
};

/// The heads [tokens, heads, head_dim] of one part of a fused projection: of [tokens, 3 hidden],
/// part 0 is queries, 1 keys, 2 values.
[[nodiscard]] at::Tensor heads_at(const at::Tensor& projected, std::int64_t part,
                                  const ModelShape& shape);

/// Longformer's global rows and the items they belong to. Each row attends to all tokens of its
/// item through separate projections (Beltagy et al., 2020, Sec. 3.1), computed as in the authors'
/// PyTorch code: gathered rows, one dense product for scores and one for values.
class GlobalRows {
 public:
  /// `rows` is ascending. The layout has no shared query.
  GlobalRows(const SequenceLayout& layout, std::vector<std::int64_t> rows, at::Device device);

  [[nodiscard]] const at::Tensor& index() const { return index_; }  // int64 [rows]
  [[nodiscard]] std::int64_t count() const { return index_.size(0); }

  /// q [rows, heads, dim] of the global rows; k, v [tokens, heads, dim] of all tokens. Returns
  /// [rows, heads, dim].
  [[nodiscard]] at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  double scale) const;

  /// Peak memory of `attend` in bytes.
  [[nodiscard]] std::int64_t peak_bytes(std::int64_t heads, std::int64_t head_dim,
                                        std::int64_t element_bytes) const;

 private:
  /// Consecutive items of equal size, computed in one product.
  struct ItemRun {
    std::int64_t items = 0;
    std::int64_t first_row = 0, rows = 0;      // of each item
    std::int64_t first_token = 0, tokens = 0;  // of each item
  };
  std::vector<ItemRun> runs_;
  at::Tensor index_;
};

class AttentionStage {
 public:
  /// Errors: those of compile_plan and of the implementation.
  [[nodiscard]] static Result<std::unique_ptr<AttentionStage>> make(
      const ModelVariant& variant, const ModelShape& shape, const Implementation& implementation,
      SequenceLayout layout);
  AttentionStage(const AttentionStage&) = delete;
  AttentionStage& operator=(const AttentionStage&) = delete;

  /// Attention of one layer, split or whole, for x [tokens, hidden]; returns [tokens, hidden].
  /// `seen` receives the projections.
  using Seen = std::function<void(const LayerHeads& local, const LayerHeads* global)>;
  [[nodiscard]] Result<at::Tensor> attend(const EncoderLayer& layer, const at::Tensor& x,
                                          const Seen& seen = {}) const;
  /// Attention of a split layer for the [CLS] rows alone; returns [CLS tokens, hidden].
  [[nodiscard]] Result<at::Tensor> attend_cls(const EncoderLayer& layer, const at::Tensor& x) const;
  /// The same for given queries, keys and values; without separate projections for global tokens.
  /// For attend_cls, q is [CLS tokens, heads, head_dim].
  [[nodiscard]] Result<at::Tensor> attend(const LayerHeads& heads) const;
  [[nodiscard]] Result<at::Tensor> attend_cls(const LayerHeads& heads) const;

  /// Whether the variant computes the last layer for [CLS] alone.
  [[nodiscard]] bool cls_only() const { return cls_only_; }
  [[nodiscard]] const SequenceLayout& layout() const { return layout_; }
  /// int64 [CLS tokens of all items].
  [[nodiscard]] const at::Tensor& cls_index() const { return cls_index_; }
  /// int64 [global rows]; only with separate projections for global tokens.
  [[nodiscard]] const at::Tensor& global_index() const { return global_->index(); }
  [[nodiscard]] std::int64_t global_row_count() const { return global_ ? global_->count() : 0; }
  /// Work of a whole layer, and of a last layer for [CLS] alone.
  [[nodiscard]] ModelWork work_of_layer() const;
  [[nodiscard]] ModelWork work_of_cls_layer() const;
  /// Peak memory of a layer in bytes, in addition to its input.
  [[nodiscard]] std::int64_t peak_bytes() const;

 private:
  AttentionStage(const ModelVariant& variant, const ModelShape& shape, SequenceLayout layout);
  [[nodiscard]] Status plan_and_prepare(const Implementation& implementation);
  [[nodiscard]] Problem problem_of(const AttentionPlan& plan) const;
  [[nodiscard]] Result<at::Tensor> run(PreparedAttention& prepared, const LayerHeads& heads) const;
  [[nodiscard]] LayerHeads local_heads(const EncoderLayer& layer, const at::Tensor& x) const;

  const ModelVariant& variant_;
  bool cls_only_;  // in the last layer
  ModelShape shape_;
  SequenceLayout layout_;
  AttentionPlan whole_;  // every row
  AttentionPlan rest_;   // without the global rows, if those are computed separately
  AttentionPlan cls_;    // [CLS] rows alone
  std::unique_ptr<PreparedAttention> prepared_, cls_prepared_;
  std::optional<GlobalRows> global_;
  at::Tensor cls_index_;
};

}  // namespace attnscope
