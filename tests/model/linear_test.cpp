#include "engine/model/linear.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <tuple>

namespace attnscope {
namespace {

double difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b).abs().max().item<double>();
}

TEST(Linear, EveryRouteMultipliesAndAdds) {
  const c10::InferenceMode no_graph;
  const at::Tensor weight = at::randn({96, 48});
  const at::Tensor bias = at::randn({96});
  for (const LinearRoute route : {LinearRoute::plain, LinearRoute::packed, LinearRoute::kernel}) {
    const Linear linear(weight, bias, route);
    EXPECT_EQ(linear.out(), 96);
    for (const std::int64_t tokens : {1, 7, 256, 300}) {
      const at::Tensor x = at::randn({tokens, 48});
      const at::Tensor rest = at::randn({tokens, 96});
      const at::Tensor expected =
          at::matmul(x.to(at::kDouble), weight.to(at::kDouble).t()) + bias.to(at::kDouble);
      EXPECT_LT(difference(linear(x), expected), 3e-5) << name_of(route) << ' ' << tokens;
      EXPECT_LT(difference(linear.plus(x, rest), expected + rest.to(at::kDouble)), 3e-5)
          << name_of(route) << ' ' << tokens;
      EXPECT_LT(difference(linear(x, cpu::Activation::gelu), at::gelu(expected)), 3e-5)
          << name_of(route) << ' ' << tokens;
    }
  }
}

/// Errors of sums of 48 products, from the rounding of the factors.
TEST(Linear, NarrowProductsStayWithinTheirErrorBounds) {
  const c10::InferenceMode no_graph;
  const at::Tensor weight = at::randn({96, 48}), bias = at::randn({96}), x = at::randn({70, 48});
  const at::Tensor expected =
      at::matmul(x.to(at::kDouble), weight.to(at::kDouble).t()) + bias.to(at::kDouble);
  for (const auto& [products, least, most] :
       {std::tuple(Products::bfloat16, 1e-3, 0.2), std::tuple(Products::int8, 1e-2, 0.6)}) {
    const Linear linear(weight, bias, route_of(products));
    const double error = difference(linear(x), expected);
    EXPECT_LT(error, most) << name_of(products);
    EXPECT_GT(error, least) << name_of(products) << ": is this float32?";
  }
}

TEST(Linear, KernelRowsAreIndependentAndMayBeStrided) {
  const c10::InferenceMode no_graph;
  const Linear linear(at::randn({96, 900}), at::randn({96}), LinearRoute::kernel);
  const at::Tensor wide = at::randn({200, 1000});
  const at::Tensor x = wide.narrow(1, 100, 900), rest = at::randn({200, 96});
  const at::Tensor together = linear.plus(x, rest);
  for (const std::int64_t first : {0, 77, 199}) {
    const at::Tensor alone =
        linear.plus(x.narrow(0, first, 1).contiguous(), rest.narrow(0, first, 1));
    EXPECT_TRUE(at::equal(alone, together.narrow(0, first, 1))) << first;
  }
  const at::Tensor by_columns = x.t().contiguous().t();
  EXPECT_TRUE(at::equal(linear.plus(by_columns, rest.t().contiguous().t()), together));
}

TEST(Linear, RefusesRowsOfOtherWidths) {
  const c10::InferenceMode no_graph;
  const Linear linear(at::randn({96, 48}), at::randn({96}), LinearRoute::kernel);
  EXPECT_ANY_THROW(static_cast<void>(linear(at::randn({3, 50}))));
}

TEST(Linear, ChoosesTheRouteOncePerProcess) {
  const LinearRoute chosen = fastest_route(DType::float32, DeviceKind::cpu, 48, 96);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(fastest_route(DType::float32, DeviceKind::cpu, 48, 96), chosen);
  }
  EXPECT_EQ(fastest_route(DType::float32, DeviceKind::cuda, 48, 96), LinearRoute::plain);
}

}  // namespace
}  // namespace attnscope
