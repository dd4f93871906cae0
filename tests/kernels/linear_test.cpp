// SPDX-License-Identifier: Apache-2.0
//
// A linear layer by every instruction set, against float64.
#include "kernels/cpu/linear.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>
#include <vector>

#include "tests/kernels/every_set.h"

namespace attnscope::testing {
namespace {

using ::testing::HasSubstr;

struct Layer {
  Layer(std::int64_t in, std::int64_t out, Products products = Products::float32)
      : in(in),
        out(out),
        products(products),
        weights(drawn(out * in, 1)),
        bias(drawn(out, 2)),
        packed(index(cpu::packed_linear_bytes(products, out, in)), std::byte{0xff}) {
    pack();
  }
  void pack() { EXPECT_TRUE(cpu::pack_linear(weights, products, out, in, packed)); }
  [[nodiscard]] cpu::LinearCall call(const std::vector<float>& x, std::vector<float>& y) const {
    return {.x = {x.data(), in},
            .rows = static_cast<std::int64_t>(x.size()) / in,
            .in = in,
            .products = products,
            .weights = packed,
            .out = out,
            .bias = bias,
            .y = {y.data(), out}};
  }
  /// The results for the rows of `x`, after `change` of the call.
  template <typename Change>
  [[nodiscard]] std::vector<float> results(const std::vector<float>& x, int threads,
                                           const Change& change) const {
    std::vector<float> y = unwritten(static_cast<std::int64_t>(x.size()) / in * out);
    cpu::LinearCall made = call(x, y);
    change(made);
    EXPECT_EQ(error_of(run_layer(made, threads)), "none");
    return y;
  }
  [[nodiscard]] std::vector<float> results(const std::vector<float>& x, int threads = 2) const {
    return results(x, threads, [](cpu::LinearCall&) {});
  }
  static Status run_layer(const cpu::LinearCall& call, int threads) {
    std::vector<float> workspace(index(
        cpu::linear_workspace_floats(std::max<std::int64_t>(call.rows, 0), std::max(threads, 1))));
    return cpu::linear(call, threads, workspace);
  }
  std::int64_t in, out;
  Products products;
  std::vector<float> weights, bias;
  std::vector<std::byte> packed;
};

double exact_gelu(double x) {
  return x / 2 * std::erfc(-x / std::sqrt(2.0));
}

struct LayerShape {
  std::int64_t rows, in, out;
};

std::string name_of_layer_shape(const ::testing::TestParamInfo<LayerShape>& of) {
  return fmt::format("{}rows_of_{}_to_{}", of.param.rows, of.param.in, of.param.out);
}

/// Tiles have 4, 6 or 14 rows, pieces 84 rows, 768 inputs and 768 outputs, panels 32 outputs.
std::vector<LayerShape> layer_shapes() {
  std::vector<LayerShape> all;
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 6, 7, 13, 14, 15, 28, 29}) {
    for (const std::int64_t in : {1, 3, 17, 64, 769}) {
      for (const std::int64_t out : {1, 4, 31, 32, 33, 70}) all.push_back({rows, in, out});
    }
  }
  for (const std::int64_t rows : {84, 85, 200}) {
    all.push_back({rows, 96, 100});
    all.push_back({rows, 1537, 65});
  }
  all.push_back({20, 40, 1700});
  return all;
}

class LinearLayer : public ::testing::TestWithParam<LayerShape> {};

INSTANTIATE_TEST_SUITE_P(Every, LinearLayer, ::testing::ValuesIn(layer_shapes()),
                         name_of_layer_shape);

TEST_P(LinearLayer, AgreesWithFloat64) {
  const auto [rows, in, out] = GetParam();
  const Layer layer(in, out);
  const std::vector<float> x = drawn(rows * in, 3);
  by_every_set([&] {
    const std::vector<float> y = layer.results(x);
    double worst = -INFINITY;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t o = 0; o < out; ++o) {
        ExactSum expected;
        expected.add(static_cast<double>(layer.bias[index(o)]));
        for (std::int64_t c = 0; c < in; ++c) {
          expected.add(static_cast<double>(x[index(r * in + c)]) *
                       static_cast<double>(layer.weights[index(o * in + c)]));
        }
        worst = std::max(worst, expected.beyond(y[index(r * out + o)]));
      }
    }
    EXPECT_LE(worst, 0);
  });
}

TEST(LinearLayerRows, MayBeUnalignedAndHaveGaps) {
  constexpr std::int64_t rows = 31, in = 50, out = 45, apart = 3;
  const Layer layer(in, out);
  const std::vector<float> x = drawn(rows * in, 3), rest = drawn(rows * out, 4);
  const auto spread = [](const std::vector<float>& tight, std::int64_t width) {
    std::vector<float> loose(index(1 + rows * (width + apart)), 7.0F);
    for (std::int64_t r = 0; r < rows; ++r)
      std::copy_n(tight.data() + r * width, width, loose.data() + 1 + r * (width + apart));
    return loose;
  };
  const std::vector<float> loose_x = spread(x, in), loose_rest = spread(rest, out);
  by_every_set([&] {
    std::vector<float> loose = spread(unwritten(rows * out), out);
    const std::vector<float> tight = layer.results(x, 2, [&](auto& call) {
      call.rest = {rest.data(), out};
    });
    static_cast<void>(layer.results(x, 2, [&](auto& call) {
      call.x = {loose_x.data() + 1, in + apart};
      call.rest = {loose_rest.data() + 1, out + apart};
      call.y = {loose.data() + 1, out + apart};
    }));
    EXPECT_EQ(loose, spread(tight, out));  // nothing written between
  });
}

TEST(LinearLayerAfterwards, BiasThenGeluThenTheResidualAreApplied) {
  constexpr std::int64_t rows = 17, out = 41;
  const std::vector<float> rest = drawn(rows * out, 4);
  for (const std::int64_t in : {20, 900}) {
    const Layer layer(in, out);
    const std::vector<float> x = drawn(rows * in, 3);
    by_every_set([&] {
      const std::vector<float> with = layer.results(x, 2, [&](auto& call) {
        call.activation = cpu::Activation::gelu;
        call.rest = {rest.data(), out};
      });
      const std::vector<float> without = layer.results(x, 2, [](auto& call) { call.bias = {}; });
      for (std::size_t i = 0; i < with.size(); ++i) {
        const double sum =
            static_cast<double>(without[i]) + static_cast<double>(layer.bias[i % index(out)]);
        EXPECT_NEAR(with[i], exact_gelu(sum) + static_cast<double>(rest[i]),
                    3e-7 * std::max(std::abs(sum), 1.0) + 1e-7);
      }
    });
  }
}

TEST(LinearLayerAfterwards, AGateInTheOutputIsMultipliedInPlace) {
  constexpr std::int64_t rows = 17, out = 41, in = 20;
  const Layer layer(in, out);
  const std::vector<float> x = drawn(rows * in, 3), gate = drawn(rows * out, 4);
  by_every_set([&] {
    std::vector<float> product = gate;
    static_cast<void>(layer.results(x, 2, [&](auto& call) {
      call.y.data = product.data();
      call.rest = {product.data(), out};
      call.rest_multiplies = true;
    }));
    const std::vector<float> sum = layer.results(x);
    for (std::size_t i = 0; i < product.size(); ++i) EXPECT_EQ(product[i], sum[i] * gate[i]);
  });
}

/// With one input of weight 1 the output is the activation of the input.
TEST(LinearLayerAfterwards, GeluIsExactForAllMagnitudes) {
  Layer identity(1, 1);
  identity.weights = {1.0F};
  identity.pack();
  std::vector<float> x;
  for (int i = -9000; i <= 9000; ++i) x.push_back(static_cast<float>(i) / 1000);
  for (const float odd : {-0.0F, 1e-30F, -1e-30F, 30.0F, -30.0F, 3e38F, -3e38F, inf})
    x.push_back(odd);
  by_every_set([&] {
    const std::vector<float> y = identity.results(x, 1, [](auto& call) {
      call.bias = {};
      call.activation = cpu::Activation::gelu;
    });
    EXPECT_EQ(y.back(), inf);
    for (std::size_t i = 0; i + 1 < x.size(); ++i)
      ASSERT_NEAR(y[i], exact_gelu(x[i]), 1.2e-7 * std::max(std::abs(x[i]), 0.2F)) << x[i];
  });
}

TEST(LinearLayerAfterwards, ReluKeepsPositiveSumsAndNaN) {
  constexpr std::int64_t rows = 17, in = 20, out = 41;
  const Layer layer(in, out);
  const std::vector<float> rest = drawn(rows * out, 4);
  std::vector<float> x = drawn(rows * in, 3);
  x[0] = nan;
  by_every_set([&] {
    const std::vector<float> without = layer.results(x), with = layer.results(x, 2, [&](auto&call) {
      call.activation = cpu::Activation::relu;
      call.rest = {rest.data(), out};
    });
    for (std::size_t i = 0; i < with.size(); ++i) {
      EXPECT_EQ(std::isnan(with[i]), i < out);
      if (i >= out) {
        EXPECT_EQ(with[i], std::max(without[i], 0.0F) + rest[i]);
      }
    }
  });
}

/// The same bits for rows of one piece and for rows whose outputs are split between threads.
TEST(LinearLayerAfterwards, WholeRowsAreNormalisedLast) {
  constexpr std::int64_t in = 20;
  constexpr float epsilon = 1e-5F;
  for (const std::int64_t out : {1, 7, 41, 300, 1000}) {
    for (const std::int64_t rows : {1, 90}) {
      const Layer layer(in, out);
      const std::vector<float> x = drawn(rows * in, 3), rest = drawn(rows * out, 4);
      const std::vector<float> weight = drawn(out, 5), bias = drawn(out, 6);
      const auto add_rest = [&](auto& call) { call.rest = {rest.data(), out}; };
      const auto normalise = [&](auto& call) {
        add_rest(call);
        call.norm = {weight, bias, epsilon};
      };
      by_every_set([&] {
        const std::vector<float> without = layer.results(x, 1, add_rest);
        const std::vector<float> with = layer.results(x, 3, normalise);
        EXPECT_EQ(with, layer.results(x, 1, normalise));
        for (std::int64_t r = 0; r < rows; ++r) {
          const std::vector<double> row(without.begin() + r * out, without.begin() + (r + 1) * out);
          const auto width = static_cast<double>(out);
          const double mean = std::accumulate(row.begin(), row.end(), 0.0) / width;
          double variance = 0;
          for (const double y : row) variance += (y - mean) * (y - mean) / width;
          for (std::size_t o = 0; o < row.size(); ++o) {
            const double expected = (row[o] - mean) /
                                        std::sqrt(variance + static_cast<double>(epsilon)) *
                                        static_cast<double>(weight[o]) +
                                    static_cast<double>(bias[o]);
            EXPECT_NEAR(with[index(r * out) + o], expected, 3e-6) << out << " outputs";
          }
        }
      });
    }
  }
}

TEST(LinearLayerAfterwards, ANormIsNaNIfTheVarianceOverflowsFloat32) {
  constexpr std::int64_t in = 4, out = 40;
  const Layer layer(in, out);
  const std::vector<float> x = drawn(in, 3), weight = drawn(out, 5);
  std::vector<float> rest(index(out), 0.0F);
  rest[7] = 1e30F;
  by_every_set([&] {
    const std::vector<float> y = layer.results(x, 1, [&](auto& call) {
      call.rest = {rest.data(), out};
      call.norm = {weight, weight, 1e-5F};
    });
    for (const float value : y) EXPECT_TRUE(std::isnan(value));
  });
}

class LinearLayerProducts : public ::testing::TestWithParam<Products> {};

std::string name_of_products(const ::testing::TestParamInfo<Products>& of) {
  constexpr std::array names{"float32", "bfloat16", "int8"};
  return names.at(static_cast<std::size_t>(of.param));
}

INSTANTIATE_TEST_SUITE_P(Every, LinearLayerProducts,
                         ::testing::Values(Products::float32, Products::bfloat16, Products::int8),
                         name_of_products);

TEST_P(LinearLayerProducts, OfPlantedNaNAreNotFiniteInItsRowOrOutputAlone) {
  constexpr std::int64_t rows = 19, in = 33, out = 37;
  const std::vector<float> x = drawn(rows * in, 3);
  for (const float planted : {nan, inf, -inf}) {
    for (const bool in_weights : {false, true}) {
      constexpr std::size_t bad = 16;  // the row, or the output
      Layer layer(in, out, GetParam());
      std::vector<float> planted_x = x;
      (in_weights ? layer.weights : planted_x)[bad * in + in - 1] = planted;
      layer.pack();
      by_every_set([&] {
        const std::vector<float> y = layer.results(planted_x);
        for (std::size_t i = 0; i < y.size(); ++i) {
          const std::size_t at = in_weights ? i % out : i / out;
          EXPECT_EQ(std::isfinite(y[i]), at != bad) << i;
          if (GetParam() == Products::float32) {
            EXPECT_EQ(std::isnan(y[i]), at == bad && std::isnan(planted));
          }
        }
      });
    }
  }
}

TEST_P(LinearLayerProducts, OfARowDependNeitherOnThreadsNorOnOtherRows) {
  constexpr std::int64_t rows = 90, in = 800, out = 70;
  const Layer layer(in, out, GetParam());
  const std::vector<float> x = drawn(rows * in, 3);
  by_every_set([&] {
    const std::vector<float> all = layer.results(x, 1);
    EXPECT_EQ(all, layer.results(x, 3));
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::vector<float> row(x.begin() + r * in, x.begin() + (r + 1) * in);
      EXPECT_EQ(layer.results(row, 1),
                std::vector(all.begin() + r * out, all.begin() + (r + 1) * out));
    }
  });
}

/// The integer that a row's largest magnitude is scaled to. Sets that do not multiply the bytes of
/// a row separately need it small enough for sums of 32 bits.
std::int64_t largest_number(cpu::InstructionSet set, std::int64_t in) {
  constexpr std::int64_t most = 32767;
  return set < cpu::InstructionSet::avx512_vnni ? std::min(most, 2147483647 / (127 * in)) : most;
}

/// Inputs are rounded to the products' type, weights are numbers of that type, everything else is
/// float32. 3100 and 6200 inputs do not fit a row's scratch. The row of equal numbers is the
/// hardest, because its roundings have one sign: in chains of 128 additions it errs by 1.0e-6 of
/// the magnitude at 6200 inputs, in chains of 768 by 7.6e-6, in a single chain by 3.4e-5.
TEST_P(LinearLayerProducts, AreProductsOfRoundedFactors) {
  std::int64_t most_of_int8 = 0;
  const auto rounded = [&](float x, float largest) {
    if (GetParam() == Products::float32) return static_cast<double>(x);
    if (GetParam() == Products::int8) {
      const double scale = static_cast<double>(largest) / static_cast<double>(most_of_int8);
      return largest == 0 ? 0.0 : std::nearbyint(static_cast<double>(x) / scale) * scale;
    }
    const auto bits = std::bit_cast<std::uint32_t>(x);
    return static_cast<double>(
        std::bit_cast<float>((bits + 0x7fffU + (bits >> 16 & 1U)) & 0xffff0000U));
  };
  const auto rounded_row = [&](const float* row, std::int64_t in) {
    const float largest = std::abs(*std::max_element(
        row, row + in, [](float a, float b) { return std::abs(a) < std::abs(b); }));
    std::vector<double> to(index(in));
    std::transform(row, row + in, to.begin(), [&](float x) { return rounded(x, largest); });
    return to;
  };
  for (const LayerShape& shape : {LayerShape{1, 1, 1},
                                  {5, 3, 33},
                                  {19, 63, 37},
                                  {33, 65, 64},
                                  {16, 128, 31},
                                  {100, 200, 800},
                                  {97, 3100, 40},
                                  {20, 6200, 33}}) {
    const auto [rows, in, out] = shape;
    Layer layer(in, out, GetParam());
    std::mt19937 draw(7);
    for (float& weight : layer.weights)
      weight = static_cast<float>(static_cast<int>(draw() % 255) - 127) / 128;
    for (std::int64_t o = 0; o < out; ++o) layer.weights[index(o * in)] = -127.0F / 128;
    // One output's sums are as large as any.
    for (std::int64_t c = 0; c < in; ++c) layer.weights[index((out - 1) * in + c)] = 127.0F / 128;
    layer.pack();
    std::vector<float> x = drawn(rows * in, 3);
    if (rows > 1) std::fill_n(x.end() - in, in, 0.7F);
    std::fill_n(x.begin(), in, 0.0F);  // a row of zeros has no scale
    by_every_set([&] {
      most_of_int8 = largest_number(*cpu::selected_set(), in);
      const std::vector<float> y = layer.results(x);
      double worst = -INFINITY;
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::vector<double> row = rounded_row(x.data() + r * in, in);
        const double most = std::abs(*std::max_element(
            row.begin(), row.end(), [](double a, double b) { return std::abs(a) < std::abs(b); }));
        for (std::int64_t o = 0; o < out; ++o) {
          const float* w = layer.weights.data() + o * in;
          ExactSum expected;
          expected.add(static_cast<double>(layer.bias[index(o)]));
          for (std::size_t c = 0; c < row.size(); ++c)
            expected.add(row[c] * static_cast<double>(w[c]));
          expected.bound *= 2;
          // Some numbers near the middle between two are rounded to the other one by float32.
          const double tie =
              GetParam() == Products::int8 ? most / static_cast<double>(most_of_int8) * 4 : 0;
          worst = std::max(worst, expected.beyond(y[index(r * out + o)]) - tie);
        }
      }
      EXPECT_LE(worst, 0) << in << " to " << out;
    });
  }
}

TEST(LinearLayerProductsOfInt8, AreTheSameByEveryInstructionSetIfNothingIsRounded) {
  constexpr std::int64_t rows = 40, in = 300, out = 70;
  const Layer layer(in, out, Products::int8);
  std::vector<float> x(index(rows * in));
  std::mt19937 draw(7);
  for (float& number : x) number = static_cast<float>(static_cast<int>(draw() % 65535) - 32767);
  for (std::int64_t r = 0; r < rows; ++r) x[index(r * in)] = 32767;  // scale 1
  std::vector<float> first;
  by_every_set([&] {
    const std::vector<float> y = layer.results(x, 1, [](auto& call) { call.bias = {}; });
    if (first.empty()) first = y;
    EXPECT_EQ(y, first);
  });
}

TEST(LinearLayerSizes, NoRowsAreAValidCall) {
  EXPECT_THAT(Layer(8, 4).results({}), ::testing::IsEmpty());
}

TEST(LinearLayerSizes, AreRefusedIfTheyContradictEachOther) {
  const Layer layer(8, 4);
  const std::vector<float> x = drawn(8, 1);
  std::vector<float> y(4);
  const cpu::LinearCall good = layer.call(x, y);
  const auto error_with = [&](const auto& change) {
    cpu::LinearCall call = good;
    change(call);
    return error_of(Layer::run_layer(call, 1));
  };
  EXPECT_EQ(error_with([](cpu::LinearCall&) {}), "none");
  EXPECT_THAT(error_with([](auto& call) { call.rows = -1; }),
              HasSubstr("cannot map -1 rows of 8 numbers to 4"));
  EXPECT_THAT(error_with([](auto& call) { call.weights = call.weights.first(32); }),
              HasSubstr("packed weights of 4 x 8 are 1024 bytes, not 32"));
  EXPECT_THAT(error_with([](auto& call) { call.bias = call.bias.first(3); }),
              HasSubstr("a bias of 4 outputs needs as many floats, not 3"));
  EXPECT_THAT(error_with([&](auto& call) {
                call.norm = {layer.bias, {}, 0};
              }),
              HasSubstr("the norm of 4 outputs needs as many weights and biases, not 0"));
  EXPECT_THAT(error_with([](auto& call) { call.y.data = nullptr; }),
              HasSubstr("needs memory for its 1 rows"));
  EXPECT_THAT(error_of(Layer::run_layer(good, 0)), HasSubstr("at least 1 thread"));
  EXPECT_THAT(error_of(cpu::linear(good, 1, {})), HasSubstr("the workspace has 0 floats"));
  std::vector<std::byte> packed(255);
  EXPECT_THAT(error_of(cpu::pack_linear(layer.weights, Products::int8, 4, 8, packed)),
              HasSubstr("are 2304 bytes, not 255"));
  EXPECT_THAT(error_of(cpu::pack_linear(x, Products::int8, 4, 8, packed)),
              HasSubstr("8 floats are not weights of 4 x 8"));
}

}  // namespace
}  // namespace attnscope::testing
