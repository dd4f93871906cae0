// SPDX-License-Identifier: Apache-2.0
#include "engine/model/model_weights.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "base/fingerprint.h"
#include "base/sentences.h"
#include "engine/attention/torch_tensors.h"

namespace attnscope {
namespace {

at::ScalarType type_of(const TensorView& view) {
  if (view.dtype == "F16") return at::kHalf;
  if (view.dtype == "F64") return at::kDouble;
  return view.dtype == "BF16" ? at::kBFloat16 : at::kFloat;
}

/// Tensors in a mapped file may be unaligned, which LibTorch's vector code does not support: copies
/// first, then converts.
at::Tensor copy_of(const TensorView& view) {
  at::Tensor raw = at::empty(view.shape, type_of(view));
  std::copy(view.bytes.begin(), view.bytes.end(), static_cast<std::byte*>(raw.data_ptr()));
  return raw.to(at::kFloat);
}

bool is_finite(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return true;
  const auto [least, most] = at::aminmax(tensor);
  return std::isfinite(least.item<float>()) && std::isfinite(most.item<float>());
}

}  // namespace

std::shared_ptr<const ModelWeights> ModelWeights::random(const ModelConfig& config,
                                                         const RandomWeights& options) {
  const c10::InferenceMode no_graph;
  at::Generator generator = at::detail::createCPUGenerator(options.seed);
  Tensors tensors;
  for (const TensorSpec& spec : config.family->tensors(config, nullptr).specs) {
    tensors.emplace(
        spec.name,
        at::empty(spec.shape, at::kFloat).normal_(spec.around, options.deviation, generator));
  }
  return std::make_shared<const ModelWeights>(config, std::move(tensors));
}

Result<std::shared_ptr<const ModelWeights>> ModelWeights::of(const Checkpoint& checkpoint) {
  const c10::InferenceMode no_graph;
  Tensors tensors;
  for (const auto& [name, view] : checkpoint.tensors) {
    const at::Tensor& copy = tensors.emplace(name, copy_of(view)).first->second;
    if (!is_finite(copy)) {
      return fail(
          "the tensor '{}' of the checkpoint has values that are infinite or NaN; the weights are "
          "damaged, so copy them again",
          in_a_sentence(name));
    }
  }
  return std::make_shared<const ModelWeights>(checkpoint.config, std::move(tensors));
}

Status has_tensors(const ModelWeights& weights, const ModelConfig& config) {
  for (const TensorSpec& spec : config.family->tensors(config, nullptr).specs) {
    if (!weights.has(spec.name)) {
      return fail("these weights have no '{}', which such a model of the family {} needs",
                  in_a_sentence(spec.name), config.family->id());
    }
    const auto sizes = weights.tensor(spec.name).sizes();
    if (!std::ranges::equal(sizes, spec.shape)) {
      return fail("'{}' is [{}] in these weights, and such a model of the family {} needs [{}]",
                  in_a_sentence(spec.name), fmt::join(sizes, ", "), config.family->id(),
                  fmt::join(spec.shape, ", "));
    }
  }
  return {};
}

const at::Tensor& ModelWeights::tensor(std::string_view name) const {
  return tensors_.find(name)->second;
}

at::Tensor ModelWeights::bias_of(const std::string& name, const at::Tensor& weight) const {
  const std::string bias = name + ".bias";
  return has(bias) ? tensor(bias) : at::zeros({weight.size(0)}, weight.options());
}

LinearWeights ModelWeights::linear(const std::string& name) const {
  const at::Tensor& weight = tensor(name + ".weight");
  return {weight, bias_of(name, weight)};
}

NormWeights ModelWeights::norm(const std::string& name) const {
  const at::Tensor& weight = tensor(name + ".weight");
  return {weight, bias_of(name, weight)};
}

std::uint64_t ModelWeights::fingerprint() const {
  RunningSum sum;
  for (const auto& [name, tensor] : tensors_) {
    sum.add(std::string_view(name));
    for (const std::int64_t size : tensor.sizes()) sum.add(static_cast<std::uint64_t>(size));
    sum.add(std::span(static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()));
  }
  return sum.value();
}

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
