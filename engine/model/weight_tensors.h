#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What ModelWeights holds. LibTorch inside: for engine/model alone.

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "engine/model/model_weights.h"

namespace attnscope {

/// y = x weight^T + bias.
struct LinearWeights {
  at::Tensor weight;  // [out, in]
  at::Tensor bias;    // [out]
};

struct NormWeights {
  at::Tensor weight, bias;  // [hidden]
};

struct GlobalProjectionWeights {
  LinearWeights query, key, value;
};

struct LayerWeights {
  LinearWeights query, key, value;
  std::optional<GlobalProjectionWeights> global;
  LinearWeights attention_output;
  NormWeights attention_norm;
  LinearWeights intermediate, output;
  NormWeights output_norm;
};

/// All float32, contiguous, on the CPU.
struct ModelWeights::Tensors {
  ModelShape shape;
  at::Tensor words;      // [vocabulary, hidden]
  at::Tensor positions;  // [first_position + positions, hidden]
  at::Tensor types;      // [types, hidden]
  NormWeights embedding_norm;
  std::vector<LayerWeights> layers;
  std::optional<LinearWeights> pooler;  // [hidden, hidden]
  LinearWeights classifier;             // [1, hidden]
};

}  // namespace attnscope
