// SPDX-License-Identifier: Apache-2.0
#include "engine/train/adamw.h"

#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/grad_mode.h>

#include <cmath>

namespace attnscope {

AdamW::AdamW(const std::vector<Parameter>& parameters, const AdamWOptions& options)
    : options_(options) {
  const at::NoGradGuard no_graph;
  weights_.reserve(parameters.size());
  first_.reserve(parameters.size());
  second_.reserve(parameters.size());
  for (const Parameter& parameter : parameters) {
    weights_.push_back(parameter.value);
    first_.push_back(at::zeros_like(parameter.value));
    second_.push_back(at::zeros_like(parameter.value));
  }
}

double AdamW::norm() const {
  double squares = 0;
  for (const at::Tensor& weight : weights_) {
    if (!weight.grad().defined()) continue;
    const auto length = at::linalg_vector_norm(weight.grad()).item<double>();
    squares += length * length;
  }
  return std::sqrt(squares);
}

Result<double> AdamW::step(double learning_rate) {
  const at::NoGradGuard no_graph;
  const double length = norm();
  if (!std::isfinite(length)) {
    return fail("the gradients are infinite or no numbers; take a lower learning rate");
  }
  ++steps_;
  // The gradients are divided by the divisor.
  const bool is_long = options_.most_norm > 0 && length > options_.most_norm;
  const at::Tensor divisor = at::full({}, is_long ? length / options_.most_norm : 1.0,
                                      weights_.front().options().requires_grad(false));
  const at::Tensor count = at::full({}, static_cast<double>(steps_), divisor.options());
  for (const bool decays : {true, false}) {
    std::vector<at::Tensor> weights, gradients, first, second;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (!weights_[i].grad().defined() || (weights_[i].dim() > 1) != decays) continue;
      weights.push_back(weights_[i]);
      gradients.push_back(weights_[i].grad());
      first.push_back(first_[i]);
      second.push_back(second_[i]);
    }
    if (weights.empty()) continue;
    at::_fused_adamw_(
        weights, gradients, first, second, {}, std::vector<at::Tensor>(weights.size(), count),
        learning_rate, options_.first_decay, options_.second_decay,
        decays ? options_.weight_decay : 0, options_.epsilon, /*amsgrad=*/false,
        /*maximize=*/false, is_long ? std::optional<at::Tensor>(divisor) : std::nullopt);
  }
  for (at::Tensor& weight : weights_) weight.mutable_grad().reset();
  return length;
}

}  // namespace attnscope
