#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A model's weights as LibTorch tensors with their family's names, float32 on the CPU; models copy
// them to their own dtype, device and packing, references to float64. Uses LibTorch.
//
//   auto weights = ModelWeights::random(config, {.seed = 1});
//   const LinearWeights query = weights->linear("encoder.layer.0.attention.self.query");

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/checkpoint/checkpoint.h"
#include "kernels/plan/tensor.h"

namespace attnscope {

struct RandomWeights {
  std::uint64_t seed = 1;
  /// Standard deviation of every weight and bias; BERT is initialised with 0.02. In small models
  /// attention is then nearly uniform.
  double deviation = 0.02;
};

/// y = x weight^T + bias.
struct LinearWeights {
  at::Tensor weight;  // [out, in]
  at::Tensor bias;    // [out]
};

struct NormWeights {
  at::Tensor weight, bias;  // [hidden]
};

class ModelWeights {
 public:
  using Tensors = std::map<std::string, at::Tensor, std::less<>>;  // contiguous

  /// Normally distributed weights and biases; LayerNorm weights around 1.
  [[nodiscard]] static std::shared_ptr<const ModelWeights> random(const ModelConfig& config,
                                                                  const RandomWeights& options);
  /// A copy of the checkpoint's tensors. An error if a tensor contains an infinite value or NaN,
  /// which scores may not reveal.
  [[nodiscard]] static Result<std::shared_ptr<const ModelWeights>> of(const Checkpoint& checkpoint);
  ModelWeights(ModelConfig config, Tensors tensors)
      : config_(std::move(config)), tensors_(std::move(tensors)) {}

  [[nodiscard]] const ModelConfig& config() const { return config_; }
  [[nodiscard]] const ModelShape& shape() const { return config_.shape; }
  [[nodiscard]] const Tensors& tensors() const { return tensors_; }
  [[nodiscard]] bool has(std::string_view name) const { return tensors_.contains(name); }
  /// Precondition, also of the functions below: the tensors exist, except biases, which are zeros
  /// if missing.
  [[nodiscard]] const at::Tensor& tensor(std::string_view name) const;
  [[nodiscard]] LinearWeights linear(const std::string& name) const;
  [[nodiscard]] NormWeights norm(const std::string& name) const;
  /// Hash of names, shapes and values; it identifies the model of encoded documents.
  [[nodiscard]] std::uint64_t fingerprint() const;

 private:
  [[nodiscard]] at::Tensor bias_of(const std::string& name, const at::Tensor& weight) const;

  ModelConfig config_;
  Tensors tensors_;
};

/// Ok, or an error that names a tensor of a model of that config that is missing or has another
/// shape.
[[nodiscard]] Status has_tensors(const ModelWeights& weights, const ModelConfig& config);

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
