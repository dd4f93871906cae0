#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Inputs and outputs of a backward pass: the inputs of a forward call, its outputs (o and the
// log-sum-exp), the incoming gradient, and the three gradients to write. With P = softmax(scale q
// k^T) over the plan's pairs and D_i = grad_o_i . o_i:
//
//   grad_v_j = sum_i P_ij grad_o_i              dS_ij = P_ij (grad_o_i . v_j - D_i)
//   grad_q_i = scale sum_j dS_ij k_j            grad_k_j = scale sum_i dS_ij q_i

#include <span>

#include "kernels/plan/tensor.h"

namespace attnscope {

/// All tensors are packed over the same tokens, heads and head dimension, and have one dtype.
struct GradientTensors {
  ConstTensor q, k, v;
  ConstTensor o;
  std::span<const float> lse;  // [tokens, heads], natural logarithm, -inf for a row without keys
  ConstTensor grad_o;
  Tensor grad_q, grad_k, grad_v;  // every element is written; 0 where nothing contributes
};

}  // namespace attnscope
