// SPDX-License-Identifier: Apache-2.0
#include "engine/train/trained_cross_encoder.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/sentences.h"
#include "engine/attention/torch_function.h"
#include "engine/attention/torch_tensors.h"
#include "engine/model/bert/bert_description.h"
#include "engine/model/bert/encoder.h"
#include "engine/model/bert/encoder_layer.h"
#include "engine/model/bert/packed_batch.h"
#include "engine/pattern/compile_plan.h"

namespace attnscope {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using SharedAttentionPlan = std::shared_ptr<const AttentionPlan>;

/// The attention of one batch, planned once for all layers.
struct BatchPlan {
  SequenceLayout layout;
  SharedAttentionPlan rows;  // every row, except global ones with separate projections
  SharedAttentionPlan cls;   // [CLS] rows alone
  std::optional<GlobalRows> global{};
  at::Tensor cls_index{};  // int64 [items]
};

using Attend = at::Tensor (*)(const BatchPlan& plan, const at::Tensor& q, const at::Tensor& k,
                              const at::Tensor& v, float scale);

at::Tensor attend_by_segment(const BatchPlan& plan, const at::Tensor& q, const at::Tensor& k,
                             const at::Tensor& v, float scale) {
  return segment_attention(plan.rows, q, k, v, scale);
}

at::Tensor attend_by_windowed(const BatchPlan& plan, const at::Tensor& q, const at::Tensor& k,
                              const at::Tensor& v, float scale) {
  return windowed_attention(plan.rows, q, k, v, scale);
}

/// Consecutive items of equal length are computed in one call.
at::Tensor attend_by_sdpa(const BatchPlan& plan, const at::Tensor& q, const at::Tensor& k,
                          const at::Tensor& v, float scale) {
  const SequenceLayout& layout = plan.layout;
  std::vector<at::Tensor> outputs;
  for (std::int64_t i = 0; i < layout.item_count();) {
    const TokenRange first = layout.item_tokens(i);
    std::int64_t items = 1;
    while (i + items < layout.item_count() && layout.item_tokens(i + items).size() == first.size())
      ++items;
    const auto framed = [&](const at::Tensor& packed) {
      return packed.narrow(0, first.begin, items * first.size())
          .unflatten(0, {items, first.size()})
          .transpose(1, 2);
    };
    outputs.push_back(at::scaled_dot_product_attention(framed(q), framed(k), framed(v), {}, 0.0,
                                                       false, static_cast<double>(scale))
                          .transpose(1, 2)
                          .flatten(0, 1));
    i += items;
  }
  return at::cat(outputs);
}

struct TrainedImplementation {
  std::string_view id;
  Attend attend;
};
constexpr TrainedImplementation known_choices[] = {
    {"segment", &attend_by_segment}, {"windowed", &attend_by_windowed}, {"sdpa", &attend_by_sdpa}};

Result<Attend> choice_named(std::string_view id) {
  const auto found = std::ranges::find(known_choices, id, &TrainedImplementation::id);
  if (found != std::end(known_choices)) return found->attend;
  return fail("the implementation '{}' has no backward pass for training; use {}",
              in_a_sentence(id), fmt::join(trained_implementations(), ", "));
}

using LayerFunction = std::function<at::Tensor(const at::Tensor& x)>;

struct HeldFunction final : torch::CustomClassHolder {
  explicit HeldFunction(LayerFunction layer_in) : layer(std::move(layer_in)) {}
  LayerFunction layer;
};

/// A layer for which the graph keeps only the input.
class RecomputedLayer : public torch::autograd::Function<RecomputedLayer> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const LayerFunction& layer) {
    context->saved_data["layer"] =
        at::IValue::make_capsule(c10::make_intrusive<HeldFunction>(layer));
    context->save_for_backward({x});
    return layer(x);
  }
  /// Accumulates the weights' gradients directly during the backward pass.
  static variable_list backward(AutogradContext* context, const variable_list& arriving) {
    const auto held =
        c10::static_intrusive_pointer_cast<HeldFunction>(context->saved_data["layer"].toCapsule());
    const at::AutoGradMode with_graph(true);
    const at::Tensor x = context->get_saved_variables()[0].detach().requires_grad_();
    torch::autograd::backward({held->layer(x)}, {arriving[0]});
    return {x.grad(), at::Tensor()};
  }
};

struct Layer {
  LinearWeights query, key, value, attention_output, intermediate, output;
  LinearWeights query_global, key_global, value_global;  // undefined: there are none
  NormWeights attention_norm, output_norm;
};

/// Shared with the graphs of its scores: a recomputed layer needs it in the backward pass, which
/// may run after the model is destroyed.
class BertGraph : public std::enable_shared_from_this<BertGraph> {
 public:
  BertGraph(const ModelWeights& weights, ModelVariant variant, Attend attend, KeptLayers kept)
      : config_(weights.config()),
        variant_(std::move(variant)),
        attend_(attend),
        kept_(kept),
        dtype_(scalar_type(variant_.dtype)),
        device_(torch_device(variant_.device)),
        cls_only_(variant_.options.contains(cls_only_last_layer)) {
    ModelWeights::Tensors leaves;
    for (const auto& [name, tensor] : weights.tensors()) {
      // Inference-mode tensors have no gradients; a copy has.
      const at::Tensor leaf =
          at::empty(tensor.sizes(), at::TensorOptions(at::kFloat).device(device_));
      leaf.copy_(tensor);
      leaf.requires_grad_();
      leaves.emplace(name, leaf);
      parameters_.push_back({name, leaf});
    }
    leaves_ = std::make_unique<const ModelWeights>(config_, std::move(leaves));
    for (std::int64_t l = 0; l < config_.shape.layers; ++l) layers_.push_back(layer_named(l));
  }

  [[nodiscard]] const std::vector<Parameter>& parameters() const { return parameters_; }
  [[nodiscard]] const ModelConfig& config() const { return config_; }

  [[nodiscard]] Result<at::Tensor> scores(const PairBatch& batch) const {
    use_torch_threads(variant_.threads);
    PairBatch texts = batch;
    texts.is_one_text = variant_.options.contains(pair_is_one_text);
    auto packed = pack_batch(texts, /*shares_query=*/false, config_.shape);
    if (!packed) return tl::unexpected(packed.error());
    const at::Tensor embedded = embed(*packed);
    auto planned = plan_of(std::move(packed->layout));
    if (!planned) return tl::unexpected(planned.error());
    const auto plan = std::make_shared<const BatchPlan>(std::move(*planned));
    at::Tensor states = embedded;
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      const bool is_short = cls_only_ && l + 1 == layers_.size();
      const LayerFunction layer = [self = shared_from_this(), l, plan,
                                   is_short](const at::Tensor& x) {
        return is_short ? self->last_layer(self->layers_[l], *plan, x)
                        : self->encode(self->layers_[l], *plan, x);
      };
      states = kept_ == KeptLayers::whole ? layer(states) : RecomputedLayer::apply(states, layer);
    }
    if (!cls_only_) states = states.index_select(0, plan->cls_index);
    return score(states.to(at::kFloat));
  }

 private:
  [[nodiscard]] Layer layer_named(std::int64_t number) const {
    const std::string name = name_of_layer(number);
    const std::string self = name + "attention.self.";
    Layer layer{.query = leaves_->linear(self + "query"),
                .key = leaves_->linear(self + "key"),
                .value = leaves_->linear(self + "value"),
                .attention_output = leaves_->linear(name + "attention.output.dense"),
                .intermediate = leaves_->linear(name + "intermediate.dense"),
                .output = leaves_->linear(name + "output.dense"),
                .query_global = {},
                .key_global = {},
                .value_global = {},
                .attention_norm = leaves_->norm(name + "attention.output.LayerNorm"),
                .output_norm = leaves_->norm(name + "output.LayerNorm")};
    if (has_global()) {
      layer.query_global = leaves_->linear(self + "query_global");
      layer.key_global = leaves_->linear(self + "key_global");
      layer.value_global = leaves_->linear(self + "value_global");
    }
    return layer;
  }

  [[nodiscard]] bool has_global() const {
    return variant_.options.contains(with_global_projections);
  }

  [[nodiscard]] Result<BatchPlan> plan_of(SequenceLayout layout) const {
    auto compiled = compile_plan(variant_.pattern, variant_.window, layout,
                                 static_cast<std::int32_t>(config_.shape.heads));
    if (!compiled) return tl::unexpected(compiled.error());
    const std::vector<std::int64_t> cls = cls_rows(layout);
    BatchPlan plan{.layout = std::move(layout),
                   .rows = {},
                   .cls = {},
                   .cls_index = at::tensor(cls, at::kLong).to(device_)};
    if (cls_only_) {
      plan.cls = std::make_shared<const AttentionPlan>(
          with_rows(*compiled, marked(cls, plan.layout.tokens())));
    }
    if (has_global()) {
      std::vector<std::int64_t> rows = global_rows(variant_.pattern, plan.layout);
      std::vector<bool> keeps = marked(rows, plan.layout.tokens());
      keeps.flip();
      *compiled = with_rows(*compiled, keeps);
      if (!rows.empty()) plan.global.emplace(plan.layout, std::move(rows), device_);
    }
    plan.rows = std::make_shared<const AttentionPlan>(std::move(*compiled));
    return plan;
  }

  /// Converts a weight to the compute dtype; its gradient is in float32.
  [[nodiscard]] at::Tensor of(const at::Tensor& weight) const { return weight.to(dtype_); }
  [[nodiscard]] at::Tensor linear(const at::Tensor& x, const LinearWeights& weights) const {
    return at::linear(x, of(weights.weight), of(weights.bias));
  }
  /// Several layers in one product, forward and backward.
  [[nodiscard]] at::Tensor alongside(const at::Tensor& x,
                                     std::initializer_list<LinearWeights> parts) const {
    std::vector<at::Tensor> weights;
    std::vector<at::Tensor> biases;
    for (const LinearWeights& part : parts) {
      weights.push_back(part.weight);
      biases.push_back(part.bias);
    }
    return at::linear(x, of(at::cat(weights)), of(at::cat(biases)));
  }
  [[nodiscard]] at::Tensor norm(const at::Tensor& x, const NormWeights& weights) const {
    return at::layer_norm(x, {x.size(1)}, of(weights.weight), of(weights.bias),
                          config_.shape.norm_epsilon);
  }
  /// [tokens, parts x hidden] to `parts` tensors [tokens, heads, head_dim].
  [[nodiscard]] std::vector<at::Tensor> heads_of(const at::Tensor& projected) const {
    const ModelShape& shape = config_.shape;
    return projected.unflatten(1, {projected.size(1) / shape.hidden, shape.heads, shape.head_dim()})
        .unbind(1);
  }

  [[nodiscard]] at::Tensor embed(const PackedBatch& batch) const {
    const auto look_up = [&](const char* table, const std::vector<std::int64_t>& rows) {
      return at::embedding(leaves_->tensor(table), at::tensor(rows, at::kLong).to(device_));
    };
    const at::Tensor sum = look_up("embeddings.word_embeddings.weight", batch.ids) +
                           look_up("embeddings.token_type_embeddings.weight", batch.types) +
                           look_up("embeddings.position_embeddings.weight", batch.positions);
    return norm(sum.to(dtype_), leaves_->norm("embeddings.LayerNorm"));
  }

  [[nodiscard]] float scale() const {
    return 1 / std::sqrt(static_cast<float>(config_.shape.head_dim()));
  }

  [[nodiscard]] at::Tensor encode(const Layer& layer, const BatchPlan& plan,
                                  const at::Tensor& x) const {
    const auto local = heads_of(alongside(x, {layer.query, layer.key, layer.value}));
    at::Tensor o = attend_(plan, local[0], local[1], local[2], scale());
    if (plan.global) {
      const at::Tensor& index = plan.global->index();
      const auto query = heads_of(linear(x.index_select(0, index), layer.query_global));
      const auto all = heads_of(alongside(x, {layer.key_global, layer.value_global}));
      o = o.index_copy(0, index, plan.global->attend(query[0], all[0], all[1], scale()));
    }
    return finish(layer, o.flatten(1), x);
  }

  /// Computes [CLS] alone: its query, every token's key and value.
  [[nodiscard]] at::Tensor last_layer(const Layer& layer, const BatchPlan& plan,
                                      const at::Tensor& x) const {
    const bool global = plan.global.has_value();
    const at::Tensor states = x.index_select(0, plan.cls_index);
    const at::Tensor query = linear(states, global ? layer.query_global : layer.query);
    const auto all = heads_of(global ? alongside(x, {layer.key_global, layer.value_global})
                                     : alongside(x, {layer.key, layer.value}));
    // The kernel indexes rows by token number; the other rows attend to nothing.
    const at::Tensor q = at::zeros(x.sizes(), x.options()).index_copy(0, plan.cls_index, query);
    const at::Tensor o = segment_attention(plan.cls, heads_of(q)[0], all[0], all[1], scale());
    return finish(layer, o.index_select(0, plan.cls_index).flatten(1), states);
  }

  [[nodiscard]] at::Tensor finish(const Layer& layer, const at::Tensor& o,
                                  const at::Tensor& x) const {
    const at::Tensor y = norm(linear(o, layer.attention_output) + x, layer.attention_norm);
    return norm(linear(at::gelu(linear(y, layer.intermediate)), layer.output) + y,
                layer.output_norm);
  }

  [[nodiscard]] at::Tensor score(const at::Tensor& states) const {
    const auto float_linear = [&](const char* name, const at::Tensor& x) {
      const LinearWeights weights = leaves_->linear(name);
      return at::linear(x, weights.weight, weights.bias);
    };
    const at::Tensor pooled =
        leaves_->has("pooler.dense.weight") ? float_linear("pooler.dense", states).tanh() : states;
    return float_linear("classifier", pooled).squeeze(1);
  }

  ModelConfig config_;
  ModelVariant variant_;
  Attend attend_;
  KeptLayers kept_;
  at::ScalarType dtype_;
  at::Device device_;
  bool cls_only_;
  std::vector<Parameter> parameters_;
  std::unique_ptr<const ModelWeights> leaves_;  // the same tensors by name
  std::vector<Layer> layers_;
};

class TrainedBert final : public TrainedCrossEncoder {
 public:
  explicit TrainedBert(std::shared_ptr<const BertGraph> graph) : graph_(std::move(graph)) {}
  const std::vector<Parameter>& parameters() const override { return graph_->parameters(); }
  const ModelConfig& config() const override { return graph_->config(); }
  Result<at::Tensor> scores(const PairBatch& batch) const override { return graph_->scores(batch); }

 private:
  std::shared_ptr<const BertGraph> graph_;
};

}  // namespace

std::vector<std::string_view> trained_implementations() {
  std::vector<std::string_view> ids;
  for (const TrainedImplementation& implementation : known_choices)
    ids.push_back(implementation.id);
  return ids;
}

Result<std::unique_ptr<TrainedCrossEncoder>> TrainedCrossEncoder::make(
    const ModelWeights& weights, const ModelVariant& variant, std::string_view implementation,
    KeptLayers kept) {
  const ModelConfig& config = weights.config();
  if (config.family->id() != "bert") {
    return fail("models of the family {} cannot be trained here; use a BERT cross-encoder",
                config.family->id());
  }
  if (!weights.has("classifier.weight")) {
    return fail("these weights have no classifier, so there is no score to train");
  }
  if (const HeadConfig head = config.head; head.labels != 1 || !head.reads_cls_alone() ||
                                           head.steps.empty() ||
                                           head.steps.back().name != "classifier") {
    return fail(
        "a model with {} labels, or whose score modules compute, cannot be trained here; use a "
        "cross-encoder with one label",
        head.labels);
  }
  if (!variant.layer_windows.empty()) {
    return fail("a model whose windows differ by layer cannot be trained here; give one --window");
  }
  if (variant.dtype == DType::float16) {
    return fail("training computes in float32 or bfloat16: small gradients underflow in float16");
  }
  if (variant.options.contains(with_global_projections) &&
      !weights.has(name_of_layer(0) + "attention.self.query_global.weight")) {
    return fail(
        "pattern '{}' computes global tokens with separate projections, which these weights do not "
        "have; use a Longformer checkpoint",
        variant.pattern.name);
  }
  const auto attend = choice_named(implementation);
  if (!attend) return tl::unexpected(attend.error());
  if (Status able = supports_attention(variant, config.shape, implementation); !able)
    return tl::unexpected(able.error());
  return std::make_unique<TrainedBert>(
      std::make_shared<const BertGraph>(weights, variant, *attend, kept));
}

std::shared_ptr<const ModelWeights> with_head(const std::shared_ptr<const ModelWeights>& weights,
                                              std::uint64_t seed) {
  if (weights->has("classifier.weight")) return weights;
  constexpr double deviation = 0.02;  // BERT's initialisation
  const c10::InferenceMode no_graph;
  at::Generator generator = at::detail::createCPUGenerator(seed);
  const std::int64_t hidden = weights->shape().hidden;
  ModelWeights::Tensors tensors = weights->tensors();
  const auto add = [&](const std::string& name, std::int64_t out) {
    if (tensors.contains(name + ".weight")) return;
    tensors.emplace(name + ".weight",
                    at::empty({out, hidden}, at::kFloat).normal_(0, deviation, generator));
    tensors.emplace(name + ".bias", at::zeros({out}, at::kFloat));
  };
  add("pooler.dense", hidden);
  add("classifier", 1);
  return std::make_shared<const ModelWeights>(weights->config(), std::move(tensors));
}

}  // namespace attnscope
