// SPDX-License-Identifier: Apache-2.0
#include "engine/model/bert/wide_weights.h"

#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>

#include "engine/attention/torch_tensors.h"

namespace attnscope {

at::Tensor WideWeights::wide(const at::Tensor& weight) const {
  return weight.to(scalar_type(dtype_)).to(at::kDouble);
}

at::Tensor WideWeights::linear(const std::string& name, const at::Tensor& x) const {
  const LinearWeights weights = weights_.linear(name);
  return at::linear(x, wide(weights.weight), wide(weights.bias));
}

at::Tensor WideWeights::norm(const std::string& name, const at::Tensor& x) const {
  const NormWeights weights = weights_.norm(name);
  return at::layer_norm(x, {x.size(1)}, wide(weights.weight), wide(weights.bias),
                        weights_.shape().norm_epsilon);
}

std::vector<double> doubles_of(const at::Tensor& tensor) {
  const at::Tensor dense = tensor.contiguous();
  const double* first = dense.const_data_ptr<double>();
  return {first, first + dense.numel()};
}

}  // namespace attnscope
