// SPDX-License-Identifier: Apache-2.0
#include "engine/model/linear.h"

#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include "engine/attention/torch_tensors.h"

namespace attnscope {
namespace {

// LibTorch has these operators for its compiler and no C++ function for them.
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

double seconds_of(const Linear& up, const Linear& down, const at::Tensor& x) {
  const auto start = std::chrono::steady_clock::now();
  const at::Tensor y = down.plus(up(x), x);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The least of several, taken in turns, because a shared machine only ever makes calls slower.
LinearRoute faster_route(at::ScalarType dtype, std::int64_t hidden, std::int64_t feed_forward) {
  constexpr std::int64_t rows = 256;
  constexpr int turns = 8;
  const c10::InferenceMode no_graph;
  const at::TensorOptions options = at::TensorOptions().dtype(dtype);
  const at::Tensor x = at::zeros({rows, hidden}, options).fill_(0.5);
  const at::Tensor up = at::zeros({feed_forward, hidden}, options).fill_(0.01);
  const at::Tensor down = at::zeros({hidden, feed_forward}, options).fill_(0.01);
  const auto layers = [&](LinearRoute route) {
    return std::pair(Linear(up, at::zeros({feed_forward}, options), route),
                     Linear(down, at::zeros({hidden}, options), route));
  };
  const auto plain = layers(LinearRoute::plain);
  const auto other = layers(LinearRoute::packed);
  double of_plain = std::numeric_limits<double>::infinity();
  double of_packed = of_plain;
  for (int turn = 0; turn < turns; ++turn) {
    of_plain = std::min(of_plain, seconds_of(plain.first, plain.second, x));
    of_packed = std::min(of_packed, seconds_of(other.first, other.second, x));
  }
  return of_packed < of_plain ? LinearRoute::packed : LinearRoute::plain;
}

/// oneDNN packs 16-bit types only on processors with instructions for them, and says so by
/// throwing.
LinearRoute timed_route(at::ScalarType dtype, std::int64_t hidden, std::int64_t feed_forward) {
  try {
    return faster_route(dtype, hidden, feed_forward);
  } catch (const c10::Error&) {
    return LinearRoute::plain;
  }
}

}  // namespace

std::string_view name_of(LinearRoute route) {
  return route == LinearRoute::plain ? "plain" : "packed";
}

LinearRoute fastest_route(DType dtype, DeviceKind device, std::int64_t hidden,
                          std::int64_t feed_forward) {
  if (device != DeviceKind::cpu || !can_pack()) return LinearRoute::plain;
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

Linear::Linear(const at::Tensor& weight, at::Tensor bias, LinearRoute route)
    : weight_(route == LinearRoute::packed ? packed(weight) : weight),
      bias_(std::move(bias)),
      route_(route) {}

at::Tensor Linear::operator()(const at::Tensor& x) const {
  if (route_ == LinearRoute::packed) return packed_linear(x, weight_, bias_);
  return at::linear(x, weight_, bias_);
}

at::Tensor Linear::plus(const at::Tensor& x, const at::Tensor& rest) const {
  if (route_ == LinearRoute::packed) return packed_linear_plus(x, rest, weight_, bias_);
  return at::linear(x, weight_, bias_).add_(rest);
}

}  // namespace attnscope
