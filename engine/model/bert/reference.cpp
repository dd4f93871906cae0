// SPDX-License-Identifier: Apache-2.0
//
// The float64 model: every layer written out in LibTorch's double operations, its mask asked of the
// oracle pair by pair. Nothing here is shared with what it judges but the weights.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/attention/torch_tensors.h"
#include "engine/model/bert/bert_config.h"
#include "engine/model/bert/encoder_layer.h"
#include "engine/model/bert/packed_batch.h"
#include "engine/model/model_weights.h"
#include "engine/pattern/oracle.h"

namespace attnscope {
namespace {

class ReferenceModel {
 public:
  ReferenceModel(const ModelWeights& weights, const ModelVariant& variant,
                 const PackedBatch& packed)
      : weights_(weights),
        variant_(variant),
        packed_(packed),
        tokens_(packed.layout.tokens()),
        heads_(weights.shape().heads),
        oracle_(variant.pattern, variant.window, packed.layout) {
    if (variant.options.contains(with_global_projections)) find_global_rows();
  }

  ReferenceOutput run() {
    make_masks();
    at::Tensor x = embed();
    for (std::int64_t l = 0; l < weights_.shape().layers; ++l) x = encode(name_of_layer(l), x);
    const at::Tensor state = x.narrow(0, 0, 1);  // [CLS] stands first
    at::Tensor pooled = state;
    if (weights_.has("pooler.dense.weight")) pooled = linear("pooler.dense", state).tanh();
    const at::Tensor score = linear("classifier", pooled);
    const double* first = state.const_data_ptr<double>();
    return {.score = score.item<double>(), .state = {first, first + weights_.shape().hidden}};
  }

 private:
  /// Weights rounded to the dtype first, as inputs of any comparison are.
  [[nodiscard]] at::Tensor wide(const at::Tensor& weight) const {
    return weight.to(scalar_type(variant_.dtype)).to(at::kDouble);
  }

  [[nodiscard]] at::Tensor linear(const std::string& name, const at::Tensor& x) const {
    const LinearWeights weights = weights_.linear(name);
    return at::linear(x, wide(weights.weight), wide(weights.bias));
  }

  [[nodiscard]] at::Tensor norm(const std::string& name, const at::Tensor& x) const {
    const NormWeights weights = weights_.norm(name);
    return at::layer_norm(x, {x.size(1)}, wide(weights.weight), wide(weights.bias),
                          weights_.shape().norm_epsilon);
  }

  [[nodiscard]] at::Tensor embed() const {
    const auto look_up = [&](const char* table, const std::vector<std::int64_t>& rows) {
      return at::embedding(wide(weights_.tensor(table)), at::tensor(rows, at::kLong));
    };
    return norm("embeddings.LayerNorm",
                look_up("embeddings.word_embeddings.weight", packed_.ids) +
                    look_up("embeddings.token_type_embeddings.weight", packed_.types) +
                    look_up("embeddings.position_embeddings.weight", packed_.positions));
  }

  [[nodiscard]] at::Tensor encode(const std::string& layer, const at::Tensor& x) const {
    at::Tensor o = attend(layer, "", x);
    if (!global_rows_.empty()) {
      const at::Tensor index = at::tensor(global_rows_, at::kLong);
      o.index_copy_(0, index, attend(layer, "_global", x).index_select(0, index));
    }
    const at::Tensor y =
        norm(layer + "attention.output.LayerNorm", x + linear(layer + "attention.output.dense", o));
    const at::Tensor wide_layer = at::gelu(linear(layer + "intermediate.dense", y));
    return norm(layer + "output.LayerNorm", y + linear(layer + "output.dense", wide_layer));
  }

  /// Through a layer's projections, or Longformer's "_global" ones.
  [[nodiscard]] at::Tensor attend(const std::string& layer, const std::string& own,
                                  const at::Tensor& x) const {
    const std::string self = layer + "attention.self.";
    return attend(linear(self + "query" + own, x), linear(self + "key" + own, x),
                  linear(self + "value" + own, x));
  }

  /// Head by head and some rows at a time: scores of the whole item would not fit at its lengths.
  [[nodiscard]] at::Tensor attend(const at::Tensor& q, const at::Tensor& k,
                                  const at::Tensor& v) const {
    const std::int64_t dim = weights_.shape().head_dim();
    const double scale = 1 / std::sqrt(static_cast<double>(dim));
    at::Tensor o = at::empty(q.sizes(), q.options());
    for (std::int64_t h = 0; h < heads_; ++h) {
      const at::Tensor keys = k.narrow(1, h * dim, dim).t();
      const at::Tensor values = v.narrow(1, h * dim, dim);
      for (std::int64_t first = 0; first < tokens_; first += rows_at_once) {
        const std::int64_t count = std::min(rows_at_once, tokens_ - first);
        const at::Tensor hidden = mask_of(h).narrow(0, first, count);
        const at::Tensor scores =
            at::matmul(q.narrow(0, first, count).narrow(1, h * dim, dim), keys) * scale;
        const at::Tensor weights =
            at::softmax(scores.masked_fill(hidden, -std::numeric_limits<double>::infinity()), 1);
        o.narrow(0, first, count).narrow(1, h * dim, dim).copy_(at::matmul(weights, values));
      }
    }
    return o;
  }

  /// Blocks are drawn for each head; all else is alike in all of them.
  [[nodiscard]] const at::Tensor& mask_of(std::int64_t head) const {
    return masks_[variant_.pattern.blocks ? static_cast<std::size_t>(head) : 0];
  }

  void make_masks() {
    const std::int64_t different = variant_.pattern.blocks ? heads_ : 1;
    masks_.reserve(static_cast<std::size_t>(different));
    for (std::int64_t h = 0; h < different; ++h) masks_.push_back(mask(h));
  }

  /// bool [tokens, tokens]: true where a pair is not allowed.
  [[nodiscard]] at::Tensor mask(std::int64_t head) const {
    at::Tensor hidden = at::empty({tokens_, tokens_}, at::kBool);
    bool* entry = hidden.data_ptr<bool>();
    for (std::int64_t i = 0; i < tokens_; ++i) {
      for (std::int64_t j = 0; j < tokens_; ++j) {
        *entry++ = !oracle_.allowed(static_cast<std::int32_t>(head), i, j);
      }
    }
    return hidden;
  }

  /// Tokens of groups that see and are seen by the whole item, whatever a window covers.
  void find_global_rows() {
    for (std::int64_t i = 0; i < tokens_; ++i) {
      const TokenGroup group = oracle_.place_of(i).group;
      const auto whole = [&](TokenGroup from, TokenGroup to) {
        return variant_.pattern.rule(from, to).kind == GroupRule::Kind::whole;
      };
      if (whole(group, TokenGroup::document) && whole(TokenGroup::document, group)) {
        global_rows_.push_back(i);
      }
    }
  }

  static constexpr std::int64_t rows_at_once = 512;
  const ModelWeights& weights_;
  const ModelVariant& variant_;
  const PackedBatch& packed_;
  std::int64_t tokens_, heads_;
  Oracle oracle_;
  std::vector<at::Tensor> masks_;  // one, or one a head
  std::vector<std::int64_t> global_rows_;
};

}  // namespace

Result<ReferenceOutput> bert_reference(const ModelWeights& weights, const ModelVariant& variant,
                                       const PairBatch::Item& item, std::int32_t cls) {
  const c10::InferenceMode no_graph;
  use_torch_threads(variant.threads);
  const auto packed =
      pack_batch({.items = {item}, .cls = cls}, /*shares_query=*/false, weights.shape());
  if (!packed) return tl::unexpected(packed.error());
  return ReferenceModel(weights, variant, *packed).run();
}

}  // namespace attnscope
