// SPDX-License-Identifier: Apache-2.0
#include "engine/model/model_weights.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/linspace.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <utility>

#include "engine/model/weight_tensors.h"

namespace attnscope {
namespace {

class Drawer {
 public:
  explicit Drawer(const RandomWeights& options)
      : generator_(at::detail::createCPUGenerator(options.seed)), deviation_(options.deviation) {}

  at::Tensor normal(at::IntArrayRef sizes, double mean = 0) {
    return at::empty(sizes, at::kFloat).normal_(mean, deviation_, generator_);
  }
  LinearWeights linear(std::int64_t out, std::int64_t in) {
    at::Tensor weight = normal({out, in});
    return {std::move(weight), normal({out})};
  }
  NormWeights norm(std::int64_t size) {
    at::Tensor weight = normal({size}, 1);
    return {std::move(weight), normal({size})};
  }
  GlobalProjectionWeights global(std::int64_t hidden) {
    LinearWeights query = linear(hidden, hidden);
    LinearWeights key = linear(hidden, hidden);
    return {std::move(query), std::move(key), linear(hidden, hidden)};
  }

 private:
  at::Generator generator_;
  double deviation_;
};

LayerWeights draw_layer(Drawer& draw, const ModelShape& shape) {
  LayerWeights layer;
  layer.query = draw.linear(shape.hidden, shape.hidden);
  layer.key = draw.linear(shape.hidden, shape.hidden);
  layer.value = draw.linear(shape.hidden, shape.hidden);
  layer.attention_output = draw.linear(shape.hidden, shape.hidden);
  layer.attention_norm = draw.norm(shape.hidden);
  layer.intermediate = draw.linear(shape.feed_forward, shape.hidden);
  layer.output = draw.linear(shape.hidden, shape.feed_forward);
  layer.output_norm = draw.norm(shape.hidden);
  return layer;
}

/// `count` rows from the first to the last, the ones between two by linear interpolation.
at::Tensor interpolated(const at::Tensor& rows, std::int64_t count) {
  const at::Tensor place =
      at::linspace(0, static_cast<double>(rows.size(0) - 1), count, at::kDouble);
  const at::Tensor below = place.floor().clamp_max(static_cast<double>(rows.size(0) - 1));
  const at::Tensor above = place.ceil().clamp_max(static_cast<double>(rows.size(0) - 1));
  const at::Tensor weight = (place - below).to(at::kFloat).unsqueeze(1);
  return at::lerp(rows.index_select(0, below.to(at::kLong)),
                  rows.index_select(0, above.to(at::kLong)), weight);
}

std::unique_ptr<ModelWeights::Tensors> same(const ModelWeights& weights) {
  return std::make_unique<ModelWeights::Tensors>(weights.tensors());
}

}  // namespace

ModelWeights::ModelWeights(std::unique_ptr<const Tensors> tensors) : tensors_(std::move(tensors)) {}
ModelWeights::~ModelWeights() = default;

const ModelShape& ModelWeights::shape() const {
  return tensors_->shape;
}

bool ModelWeights::has_global_projections() const {
  return std::ranges::all_of(tensors_->layers,
                             [](const LayerWeights& layer) { return layer.global.has_value(); });
}

std::shared_ptr<const ModelWeights> ModelWeights::random(const ModelShape& shape,
                                                         const RandomWeights& options) {
  const c10::InferenceMode no_graph;
  Drawer draw(options);
  auto tensors = std::make_unique<Tensors>();
  tensors->shape = shape;
  tensors->words = draw.normal({shape.vocabulary, shape.hidden});
  tensors->positions = draw.normal({shape.first_position + shape.positions, shape.hidden});
  tensors->types = draw.normal({shape.types, shape.hidden});
  tensors->embedding_norm = draw.norm(shape.hidden);
  for (std::int64_t l = 0; l < shape.layers; ++l) {
    tensors->layers.push_back(draw_layer(draw, shape));
  }
  tensors->pooler = draw.linear(shape.hidden, shape.hidden);
  tensors->classifier = draw.linear(1, shape.hidden);
  if (options.global_projections) {
    for (LayerWeights& layer : tensors->layers) layer.global = draw.global(shape.hidden);
  }
  return std::make_shared<const ModelWeights>(std::move(tensors));
}

std::shared_ptr<const ModelWeights> ModelWeights::extended_to(std::int64_t positions) const {
  const c10::InferenceMode no_graph;
  auto extended = same(*this);
  const std::int64_t first = tensors_->shape.first_position;
  const at::Tensor rows = tensors_->positions.narrow(0, first, tensors_->shape.positions);
  extended->positions =
      at::cat({tensors_->positions.narrow(0, 0, first), interpolated(rows, positions)});
  extended->shape.positions = positions;
  return std::make_shared<const ModelWeights>(std::move(extended));
}

std::shared_ptr<const ModelWeights> ModelWeights::with_global_projections() const {
  auto extended = same(*this);
  for (LayerWeights& layer : extended->layers) {
    if (!layer.global) layer.global = {layer.query, layer.key, layer.value};
  }
  return std::make_shared<const ModelWeights>(std::move(extended));
}

}  // namespace attnscope
