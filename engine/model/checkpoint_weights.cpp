// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <utility>

#include "engine/model/weight_tensors.h"

namespace attnscope {
namespace {

at::ScalarType type_of(const TensorView& view) {
  if (view.dtype == "F16") return at::kHalf;
  return view.dtype == "BF16" ? at::kBFloat16 : at::kFloat;
}

/// Bytes of a mapped file may lie at any address, which LibTorch's vectors do not take: copied
/// first, converted then.
at::Tensor copy_of(const TensorView& view) {
  at::Tensor raw = at::empty(view.shape, type_of(view));
  std::copy(view.bytes.begin(), view.bytes.end(), static_cast<std::byte*>(raw.data_ptr()));
  return raw.to(at::kFloat);
}

LinearWeights copy_of(const LinearViews& views) {
  return {copy_of(views.weight), copy_of(views.bias)};
}

NormWeights copy_of(const NormViews& views) {
  return {copy_of(views.weight), copy_of(views.bias)};
}

LayerWeights copy_of(const LayerViews& views) {
  LayerWeights layer;
  layer.query = copy_of(views.query);
  layer.key = copy_of(views.key);
  layer.value = copy_of(views.value);
  if (views.global) {
    layer.global = GlobalProjectionWeights{.query = copy_of(views.global->query),
                                           .key = copy_of(views.global->key),
                                           .value = copy_of(views.global->value)};
  }
  layer.attention_output = copy_of(views.attention_output);
  layer.attention_norm = copy_of(views.attention_norm);
  layer.intermediate = copy_of(views.intermediate);
  layer.output = copy_of(views.output);
  layer.output_norm = copy_of(views.output_norm);
  return layer;
}

}  // namespace

Result<std::shared_ptr<const ModelWeights>> ModelWeights::of(const Checkpoint& checkpoint) {
  if (!checkpoint.tensors().classifier) {
    return fail(
        "the checkpoint is a {} without a classification head, so it gives no scores; take one "
        "that was trained to rank, with the tensors classifier.weight and classifier.bias",
        checkpoint.architecture());
  }
  return encoder_of(checkpoint);
}

std::shared_ptr<const ModelWeights> ModelWeights::encoder_of(const Checkpoint& checkpoint) {
  const c10::InferenceMode no_graph;
  const ModelViews& views = checkpoint.tensors();
  auto tensors = std::make_unique<Tensors>();
  tensors->shape = checkpoint.shape();
  tensors->words = copy_of(views.words);
  tensors->positions = copy_of(views.positions);
  tensors->types = copy_of(views.types);
  tensors->embedding_norm = copy_of(views.embedding_norm);
  tensors->layers.reserve(views.layers.size());
  for (const LayerViews& layer : views.layers) tensors->layers.push_back(copy_of(layer));
  if (views.pooler) tensors->pooler = copy_of(*views.pooler);
  if (views.classifier) {
    tensors->classifier = copy_of(*views.classifier);
  } else {
    tensors->classifier = {at::zeros({1, tensors->shape.hidden}), at::zeros({1})};
  }
  return std::make_shared<const ModelWeights>(std::move(tensors));
}

}  // namespace attnscope
