// SPDX-License-Identifier: Apache-2.0
#include "engine/model/modern_bert/rotary.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>

namespace attnscope {
namespace {

/// Rotates one head at one position.
void rotate_head(float* __restrict first, float* __restrict second, const float* __restrict cosine,
                 const float* __restrict sine, std::int64_t half) {
  for (std::int64_t j = 0; j < half; ++j) {
    const float a = first[j], b = second[j];
    first[j] = a * cosine[j] - b * sine[j];
    second[j] = b * cosine[j] + a * sine[j];
  }
}

}  // namespace

RotaryTable::RotaryTable(double theta, std::int64_t head_dim, std::int64_t positions,
                         at::Device device) {
  // The same sequence of operations as in transformers.
  const at::Tensor exponents =
      at::arange(0, head_dim, 2, at::kFloat) / static_cast<double>(head_dim);
  const at::Tensor frequencies = at::pow(at::Scalar(theta), exponents).reciprocal();
  angles_ = at::outer(at::arange(positions, at::kFloat), frequencies).to(device);
  cosines_ = angles_.cos();
  sines_ = angles_.sin();
}

void RotaryTable::rotate(const at::Tensor& x, const at::Tensor& positions) const {
  const std::int64_t half = cosines_.size(1);
  if (x.scalar_type() != at::kFloat || !x.is_cpu()) {
    const at::Tensor cosine = cosines_.index_select(0, positions).unsqueeze(1);
    const at::Tensor sine = sines_.index_select(0, positions).unsqueeze(1);
    const at::Tensor a = x.narrow(2, 0, half).to(at::kFloat);
    const at::Tensor b = x.narrow(2, half, half).to(at::kFloat);
    x.copy_(at::cat({a * cosine - b * sine, b * cosine + a * sine}, 2));
    return;
  }
  auto* data = x.mutable_data_ptr<float>();
  const auto* place = positions.const_data_ptr<std::int64_t>();
  const auto* cosine = cosines_.const_data_ptr<float>();
  const auto* sine = sines_.const_data_ptr<float>();
  const std::int64_t heads = x.size(1), pitch = x.stride(0), head_pitch = x.stride(1);
  constexpr std::int64_t tokens_of_a_piece = 64;
  at::parallel_for(0, x.size(0), tokens_of_a_piece, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t t = first; t < end; ++t) {
      const std::int64_t row = place[t] * half;
      for (std::int64_t h = 0; h < heads; ++h) {
        float* head = data + t * pitch + h * head_pitch;
        rotate_head(head, head + half, cosine + row, sine + row, half);
      }
    }
  });
}

}  // namespace attnscope
