#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// AdamW (Loshchilov and Hutter, 2019): float32 moments for every weight, decoupled weight decay.
// LibTorch inside.
//
//   AdamW optimizer(model->parameters(), {});
//   loss.backward();
//   Result<double> norm = optimizer.step(7e-6);   // weights change, gradients are gone

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/train/trained_cross_encoder.h"

namespace attnscope {

struct AdamWOptions {
  double first_decay = 0.9, second_decay = 0.999, epsilon = 1e-8;
  /// Applies to weights with two dimensions, not to biases and norm weights.
  double weight_decay = 0.01;
  /// Maximum global gradient norm, for clipping; 0: no clipping.
  double most_norm = 1;
};

class AdamW {
 public:
  AdamW(const std::vector<Parameter>& parameters, const AdamWOptions& options);

  /// Performs one update and returns the gradient norm before clipping. An error for infinite or
  /// NaN gradients, which change nothing. Weights without a gradient stay unchanged.
  [[nodiscard]] Result<double> step(double learning_rate);

  /// Both moments of each parameter, in the order of the parameters.
  [[nodiscard]] const std::vector<at::Tensor>& first() const { return first_; }
  [[nodiscard]] const std::vector<at::Tensor>& second() const { return second_; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  /// For moments that are restored from a state.
  void set_steps(std::int64_t steps) { steps_ = steps; }

 private:
  [[nodiscard]] double norm() const;

  AdamWOptions options_;
  std::vector<at::Tensor> weights_, first_, second_;
  std::int64_t steps_ = 0;
};

}  // namespace attnscope
