#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A part kernel of plain masked softmax, sequence by sequence, in float32 on the CPU: it stands in
// for the flash kernel where there is no CUDA.

#include <ATen/ATen.h>

#include "engine/attention/flash_window/assembled_attention.h"

namespace attnscope::tests {

class LoopPartKernel final : public PartKernel {
 public:
  PartResult forward(const PartOperands& part) const override {
    PartResult result{.o = at::empty(part.q.sizes(), part.q.options()),
                      .lse = at::empty(numbers_shape(part), at::kFloat)};
    for (std::int64_t s = 0; s < sequences(part); ++s) {
      const at::Tensor scores = scores_of(part, s);
      const at::Tensor lse = at::logsumexp(scores, {-1});
      const at::Tensor weights = at::exp(scores - lse.unsqueeze(-1));
      rows(part, result.o, s).copy_(at::matmul(weights, keys(part, part.v, s)).transpose(0, 1));
      numbers(part, result.lse, s).copy_(lse);
    }
    return result;
  }

  PartGradients backward(const PartOperands& part, const at::Tensor& grad_o,
                         const PartResult& whole) const override {
    PartGradients gradients{.q = at::empty(part.q.sizes(), part.q.options()),
                            .k = at::empty(part.k.sizes(), part.k.options()),
                            .v = at::empty(part.v.sizes(), part.v.options())};
    for (std::int64_t s = 0; s < sequences(part); ++s) {
      const at::Tensor lse = numbers(part, whole.lse, s).unsqueeze(-1);
      const at::Tensor weights = at::exp(scores_of(part, s) - lse);
      const at::Tensor arriving = rows(part, grad_o, s).transpose(0, 1).to(at::kFloat);
      const at::Tensor o = rows(part, whole.o, s).transpose(0, 1).to(at::kFloat);
      const at::Tensor of_weights = at::matmul(arriving, keys(part, part.v, s).transpose(1, 2));
      const at::Tensor of_scores =
          weights * (of_weights - (arriving * o).sum(-1, /*keepdim=*/true)) * part.scale;
      const at::Tensor q = rows(part, part.q, s).transpose(0, 1).to(at::kFloat);
      rows(part, gradients.q, s)
          .copy_(at::matmul(of_scores, keys(part, part.k, s)).transpose(0, 1));
      key_rows(part, gradients.k, s)
          .copy_(at::matmul(of_scores.transpose(1, 2), q).transpose(0, 1));
      key_rows(part, gradients.v, s)
          .copy_(at::matmul(weights.transpose(1, 2), arriving).transpose(0, 1));
    }
    return gradients;
  }

 private:
  static bool is_even(const PartOperands& part) { return part.q.dim() == 4; }
  static std::int64_t sequences(const PartOperands& part) {
    return is_even(part) ? part.q.size(0) : part.row_borders.numel() - 1;
  }
  static std::vector<std::int64_t> numbers_shape(const PartOperands& part) {
    if (is_even(part)) return {part.q.size(0), part.q.size(2), part.q.size(1)};
    return {part.q.size(1), part.q.size(0)};
  }
  /// [length, heads, dim] of sequence s.
  static at::Tensor sequence(const at::Tensor& values, const at::Tensor& borders, std::int64_t s) {
    if (values.dim() == 4) return values.select(0, s);
    const std::int32_t* border = borders.data_ptr<std::int32_t>();
    return values.slice(0, border[s], border[s + 1]);
  }
  static at::Tensor rows(const PartOperands& part, const at::Tensor& values, std::int64_t s) {
    return sequence(values, part.row_borders, s);
  }
  static at::Tensor key_rows(const PartOperands& part, const at::Tensor& values, std::int64_t s) {
    return sequence(values, part.key_borders, s);
  }
  /// [heads, keys, dim] in float32.
  static at::Tensor keys(const PartOperands& part, const at::Tensor& values, std::int64_t s) {
    return key_rows(part, values, s).transpose(0, 1).to(at::kFloat);
  }
  /// [heads, rows] of sequence s.
  static at::Tensor numbers(const PartOperands& part, const at::Tensor& values, std::int64_t s) {
    if (is_even(part)) return values.select(0, s);
    const std::int32_t* border = part.row_borders.data_ptr<std::int32_t>();
    return values.slice(1, border[s], border[s + 1]);
  }
  /// [heads, rows, keys], -inf outside the window.
  static at::Tensor scores_of(const PartOperands& part, std::int64_t s) {
    const at::Tensor q = rows(part, part.q, s).transpose(0, 1).to(at::kFloat);
    const at::Tensor k = keys(part, part.k, s);
    const at::Tensor scores = at::matmul(q, k.transpose(1, 2)) * part.scale;
    if (part.window < 0) return scores;
    const at::Tensor distance =
        (at::arange(q.size(1)).unsqueeze(1) - at::arange(k.size(1)).unsqueeze(0)).abs();
    return scores.masked_fill(distance.gt(part.window), -std::numeric_limits<float>::infinity());
  }
};

}  // namespace attnscope::tests
