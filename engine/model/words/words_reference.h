#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Plain operations, without kernels, for the float64 references of re-rankers over word vectors.
// LibTorch inside.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "engine/model/family.h"
#include "engine/model/model_weights.h"

namespace attnscope {

class WordsReference {
 public:
  explicit WordsReference(const ModelWeights& weights) : weights_(weights) {}

  [[nodiscard]] const ModelShape& shape() const { return weights_.shape(); }
  [[nodiscard]] at::Tensor tensor(const std::string& name) const;
  [[nodiscard]] at::Tensor linear(const std::string& name, const at::Tensor& x) const;
  [[nodiscard]] at::Tensor norm(const std::string& name, const at::Tensor& x) const;
  /// [words, hidden].
  [[nodiscard]] at::Tensor embed(TokenIds words) const;
  /// One sequence x [words, hidden] through all attention layers.
  [[nodiscard]] at::Tensor contextualize(at::Tensor x) const;
  /// [rows of a, rows of b].
  [[nodiscard]] static at::Tensor cosines(const at::Tensor& a, const at::Tensor& b);
  /// Gaussian kernels of c [...]: [..., 11]; the first kernel has its own width.
  [[nodiscard]] static at::Tensor kernels(const at::Tensor& c, double first_width);
  /// KNRM's sums of kernels of cosines [query words, document words]: [11].
  [[nodiscard]] static at::Tensor log_sums(const at::Tensor& cosines, double first_width);
  /// A convolution of x [channels, rows, columns], zero-padded at the right and the bottom to keep
  /// its size.
  [[nodiscard]] at::Tensor convolve(const std::string& name, const at::Tensor& x) const;
  /// Rows `from` .. `from` + count - 1 of the sinusoidal table: [count, hidden].
  [[nodiscard]] at::Tensor sinusoids(std::int64_t from, std::int64_t count) const;

 private:
  const ModelWeights& weights_;
};

}  // namespace attnscope
