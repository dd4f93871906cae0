#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// AdamW (Loshchilov and Hutter, 2019): moments of float32 beside every weight, decay apart from
// them. LibTorch inside.
//
//   AdamW optimizer(model->parameters(), {});
//   loss.backward();
//   Result<double> norm = optimizer.step(7e-6);   // weights change, gradients are gone

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/train/trained_cross_encoder.h"
#include "kernels/base/result.h"

namespace attnscope {

struct AdamWOptions {
  double first_decay = 0.9, second_decay = 0.999, epsilon = 1e-8;
  /// Of weights with two dimensions; biases and the norms' factors have none.
  double weight_decay = 0.01;
  /// Gradients are made shorter to this length of all of them together; 0: never.
  double most_norm = 1;
};

class AdamW {
 public:
  AdamW(const std::vector<Parameter>& parameters, const AdamWOptions& options);

  /// One update, and the gradients' length before it was made shorter. An error of gradients that
  /// are infinite or no numbers: nothing has changed then. Weights without a gradient stay.
  [[nodiscard]] Result<double> step(double learning_rate);

  /// Both moments of each parameter, in their order.
  [[nodiscard]] const std::vector<at::Tensor>& first() const { return first_; }
  [[nodiscard]] const std::vector<at::Tensor>& second() const { return second_; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  /// For moments that were filled from elsewhere.
  void set_steps(std::int64_t steps) { steps_ = steps; }

 private:
  [[nodiscard]] double norm() const;

  AdamWOptions options_;
  std::vector<at::Tensor> weights_, first_, second_;
  std::int64_t steps_ = 0;
};

}  // namespace attnscope
