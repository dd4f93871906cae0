#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Weights for the float64 references of models.

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "engine/model/model_weights.h"
#include "kernels/plan/tensor.h"

namespace attnscope {

/// A model's weights in float64, first rounded to the variant's dtype, as the inputs of every
/// comparison are.
class WideWeights {
 public:
  WideWeights(const ModelWeights& weights, DType dtype) : weights_(weights), dtype_(dtype) {}
  [[nodiscard]] at::Tensor wide(const at::Tensor& weight) const;
  [[nodiscard]] at::Tensor linear(const std::string& name, const at::Tensor& x) const;
  [[nodiscard]] at::Tensor norm(const std::string& name, const at::Tensor& x) const;
  [[nodiscard]] const ModelWeights& weights() const { return weights_; }

 private:
  const ModelWeights& weights_;
  DType dtype_;
};

/// Values of a float64 tensor, in row-major order.
[[nodiscard]] std::vector<double> doubles_of(const at::Tensor& tensor);

}  // namespace attnscope
