// SPDX-License-Identifier: Apache-2.0
#include "engine/model/linear.h"

#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "engine/attention/torch_tensors.h"

namespace attnscope {
namespace {

// LibTorch has these operators for its compiler, without a C++ function for them.
constexpr const char* pack_operator = "mkldnn::_reorder_linear_weight";
constexpr const char* linear_operator = "mkldnn::_linear_pointwise";
constexpr const char* binary_overload = "binary";

using Pack = at::Tensor(const at::Tensor&, std::optional<std::int64_t>);
using Pointwise = at::Tensor(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&,
                             std::string_view, c10::List<std::optional<at::Scalar>>,
                             std::optional<std::string_view>);
using PointwiseBinary = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                   const std::optional<at::Tensor>&, std::string_view);

bool has_operator(const char* name, const char* overload) {
  return c10::Dispatcher::singleton().findSchema({name, overload}).has_value();
}

bool can_pack() {
  static const bool can = has_operator(pack_operator, "") && has_operator(linear_operator, "") &&
                          has_operator(linear_operator, binary_overload);
  return can;
}

at::Tensor packed(const at::Tensor& weight) {
  static const auto pack =
      c10::Dispatcher::singleton().findSchemaOrThrow(pack_operator, "").typed<Pack>();
  return pack.call(weight, std::nullopt);
}

at::Tensor packed_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  static const auto linear =
      c10::Dispatcher::singleton().findSchemaOrThrow(linear_operator, "").typed<Pointwise>();
  return linear.call(x, weight, bias, "none", c10::List<std::optional<at::Scalar>>(), std::nullopt);
}

at::Tensor packed_linear_plus(const at::Tensor& x, const at::Tensor& rest, const at::Tensor& weight,
                              const at::Tensor& bias) {
  static const auto linear = c10::Dispatcher::singleton()
                                 .findSchemaOrThrow(linear_operator, binary_overload)
                                 .typed<PointwiseBinary>();
  return linear.call(x, rest, weight, bias, "add");
}

/// Inconsistent sizes are a caller's error, as in LibTorch.
void must(const Status& done) {
  if (!done) throw std::invalid_argument(done.error().message);
}

std::span<const float> floats_of_tensor(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

std::span<float> output_floats_of(at::Tensor& tensor) {
  return {tensor.mutable_data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

bool is_of_kernel(LinearRoute route) {
  return route != LinearRoute::plain && route != LinearRoute::packed;
}

Products products_of(LinearRoute route) {
  if (route == LinearRoute::int8) return Products::int8;
  return route == LinearRoute::bfloat16 ? Products::bfloat16 : Products::float32;
}

at::Tensor packed_for_kernel(const at::Tensor& weight, Products products) {
  const at::Tensor rows = weight.contiguous();
  const std::int64_t out = rows.size(0), in = rows.size(1);
  at::Tensor to =
      at::empty({cpu::packed_linear_bytes(products, out, in)}, rows.options().dtype(at::kByte));
  const std::span packed_bytes(reinterpret_cast<std::byte*>(to.mutable_data_ptr<std::uint8_t>()),
                               static_cast<std::size_t>(to.numel()));
  must(cpu::pack_linear(floats_of_tensor(rows), products, out, in, packed_bytes));
  return to;
}

/// Makes each row contiguous.
at::Tensor by_rows(const at::Tensor& x) {
  return x.stride(1) == 1 ? x : x.contiguous();
}

struct KernelWeights {
  const at::Tensor& packed;
  const at::Tensor& bias;
  Products products;
};

/// Operations on a row's outputs after the sums; `rest` may be undefined.
struct AfterSums {
  cpu::Activation activation = cpu::Activation::none;
  at::Tensor rest{};
  bool rest_multiplies = false;
  cpu::LayerNorm norm{};
};

void kernel_linear(const at::Tensor& x, const KernelWeights& weights, const AfterSums& after,
                   at::Tensor& y) {
  const int threads = at::in_parallel_region() ? 1 : at::get_num_threads();
  const at::Tensor rows = by_rows(x);
  const at::Tensor rest = after.rest.defined() ? by_rows(after.rest) : after.rest;
  const std::int64_t count = rows.size(0), out = weights.bias.size(0);
  at::Tensor workspace = at::empty({cpu::linear_workspace_floats(count, threads)}, rows.options());
  cpu::LinearCall call{
      .x = {rows.const_data_ptr<float>(), rows.stride(0)},
      .rows = count,
      .in = rows.size(1),
      .products = weights.products,
      .weights = {reinterpret_cast<const std::byte*>(weights.packed.const_data_ptr<std::uint8_t>()),
                  static_cast<std::size_t>(weights.packed.numel())},
      .out = out,
      .bias = floats_of_tensor(weights.bias),
      .activation = after.activation,
      .rest_multiplies = after.rest_multiplies,
      .norm = after.norm,
      .y = {y.mutable_data_ptr<float>(), y.stride(0)}};
  if (rest.defined()) call.rest = {rest.const_data_ptr<float>(), rest.stride(0)};
  must(cpu::linear(call, threads, output_floats_of(workspace)));
}

at::Tensor kernel_linear(const at::Tensor& x, const KernelWeights& weights,
                         const AfterSums& after) {
  at::Tensor y = at::empty({x.size(0), weights.bias.size(0)}, x.options());
  kernel_linear(x, weights, after, y);
  return y;
}

double seconds_of(const Linear& up, const Linear& down, const at::Tensor& x) {
  const auto start = std::chrono::steady_clock::now();
  const at::Tensor y = down.plus(up(x, cpu::Activation::gelu), x);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// `plain` or the other route. Compares the minimum of several alternating timings, because other
/// load on the machine only makes calls slower. The kernel, whose rows do not depend on other rows,
/// is chosen up to 10 percent slower.
LinearRoute faster_route(LinearRoute other, at::ScalarType dtype, std::int64_t hidden,
                         std::int64_t feed_forward) {
  constexpr int turns = 8;
  const c10::InferenceMode no_graph;
  const at::TensorOptions options = at::TensorOptions().dtype(dtype);
  const at::Tensor up = at::zeros({feed_forward, hidden}, options).fill_(0.01);
  const at::Tensor down = at::zeros({hidden, feed_forward}, options).fill_(0.01);
  const auto layers = [&](LinearRoute route) {
    return std::pair(Linear(up, at::zeros({feed_forward}, options), route),
                     Linear(down, at::zeros({hidden}, options), route));
  };
  const auto of_plain = layers(LinearRoute::plain), of_other = layers(other);
  double gain = other == LinearRoute::kernel ? 1 / 0.9 : 1;
  for (const std::int64_t rows : {16, 256}) {
    const at::Tensor x = at::zeros({rows, hidden}, options).fill_(0.5);
    double least_plain = std::numeric_limits<double>::infinity(), least_other = least_plain;
    for (int turn = 0; turn < turns; ++turn) {
      least_plain = std::min(least_plain, seconds_of(of_plain.first, of_plain.second, x));
      least_other = std::min(least_other, seconds_of(of_other.first, of_other.second, x));
    }
    gain *= std::sqrt(least_plain / least_other);
  }
  return gain > 1 ? other : LinearRoute::plain;
}

/// oneDNN packs 16-bit types only on processors with instructions for them, and throws otherwise.
LinearRoute timed_route(at::ScalarType dtype, std::int64_t hidden, std::int64_t feed_forward) {
  if (dtype == at::kFloat) return faster_route(LinearRoute::kernel, dtype, hidden, feed_forward);
  if (!can_pack()) return LinearRoute::plain;
  try {
    return faster_route(LinearRoute::packed, dtype, hidden, feed_forward);
  } catch (const c10::Error&) {
    return LinearRoute::plain;
  }
}

at::Tensor weight_for(LinearRoute route, const at::Tensor& weight) {
  switch (route) {
    case LinearRoute::plain:
      return weight;
    case LinearRoute::packed:
      return packed(weight);
    case LinearRoute::kernel:
    case LinearRoute::bfloat16:
    case LinearRoute::int8:
      return packed_for_kernel(weight, products_of(route));
  }
  return weight;
}

}  // namespace

std::string_view name_of(LinearRoute route) {
  static constexpr std::array names{"plain", "packed", "kernel", "bfloat16", "int8"};
  return names[static_cast<std::size_t>(route)];
}

LinearRoute route_of(Products products) {
  switch (products) {
    case Products::float32:
      return LinearRoute::kernel;
    case Products::bfloat16:
      return LinearRoute::bfloat16;
    case Products::int8:
      return LinearRoute::int8;
  }
  return LinearRoute::kernel;
}

LinearRoute fastest_route(DType dtype, DeviceKind device, std::int64_t hidden,
                          std::int64_t feed_forward) {
  if (device != DeviceKind::cpu) return LinearRoute::plain;
  static std::mutex mutex;
  static std::map<std::tuple<DType, std::int64_t, std::int64_t, int>, LinearRoute> known;
  const std::scoped_lock lock(mutex);
  const std::tuple key(dtype, hidden, feed_forward, at::get_num_threads());
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  const LinearRoute route = timed_route(scalar_type(dtype), hidden, feed_forward);
  known.emplace(key, route);
  return route;
}

Norm::Norm(at::Tensor weight, at::Tensor bias, double epsilon)
    : weight_(std::move(weight)), bias_(std::move(bias)), epsilon_(epsilon) {}

at::Tensor Norm::operator()(const at::Tensor& x) const {
  return at::layer_norm(x, {x.size(1)}, weight_, bias_, epsilon_);
}

Linear::Linear(const at::Tensor& weight, at::Tensor bias, LinearRoute route)
    : weight_(weight_for(route, weight)), bias_(std::move(bias)), route_(route) {}

at::Tensor Linear::operator()(const at::Tensor& x, cpu::Activation activation) const {
  if (is_of_kernel(route_))
    return kernel_linear(x, {weight_, bias_, products_of(route_)}, {activation});
  at::Tensor y = route_ == LinearRoute::packed ? packed_linear(x, weight_, bias_)
                                               : at::linear(x, weight_, bias_);
  switch (activation) {
    case cpu::Activation::none:
      return y;
    case cpu::Activation::gelu:
      return at::gelu_(y);
    case cpu::Activation::relu:
      return at::relu_(y);
  }
  return y;
}

at::Tensor Linear::plus(const at::Tensor& x, const at::Tensor& rest) const {
  if (is_of_kernel(route_))
    return kernel_linear(x, {weight_, bias_, products_of(route_)}, {.rest = rest});
  if (route_ == LinearRoute::packed) return packed_linear_plus(x, rest, weight_, bias_);
  return at::linear(x, weight_, bias_).add_(rest);
}

void Linear::plus_normed(const at::Tensor& x, const at::Tensor& rest, const Norm& norm,
                         at::Tensor& to) const {
  if (!is_of_kernel(route_)) {
    to.copy_(norm(plus(x, rest)));
    return;
  }
  const cpu::LayerNorm rows{.weight = floats_of_tensor(norm.weight_),
                            .bias = floats_of_tensor(norm.bias_),
                            .epsilon = static_cast<float>(norm.epsilon_)};
  kernel_linear(x, {weight_, bias_, products_of(route_)}, {.rest = rest, .norm = rows}, to);
}

void Linear::times(const at::Tensor& x, at::Tensor& gate) const {
  if (is_of_kernel(route_)) {
    kernel_linear(x, {weight_, bias_, products_of(route_)}, {.rest = gate, .rest_multiplies = true},
                  gate);
    return;
  }
  gate.mul_((*this)(x));
}

at::Tensor Computing::of(const at::Tensor& weight) const {
  return weight.to(device, scalar_type(dtype));
}

Linear Computing::of(const LinearWeights& weights) const {
  return {of(weights.weight), of(weights.bias), route};
}

Norm Computing::of(const NormWeights& weights, double epsilon) const {
  return {of(weights.weight), of(weights.bias), epsilon};
}

}  // namespace attnscope
