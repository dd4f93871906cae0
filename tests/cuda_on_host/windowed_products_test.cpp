// SPDX-License-Identifier: Apache-2.0
//
// The paper's two products and their gradients against naive loops in float64 and the CPU twin.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "kernels/cpu/windowed.h"
#include "tests/cuda_on_host/emulator.h"
#include "tests/cuda_on_host/windowed_case.h"
#include "tests/kernels/double_rows.h"

namespace attnscope::testing {
namespace {

using on_host::DeviceArray;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float scale = 0.5f;
constexpr float untouched = 99.0f;

struct Band {
  std::vector<TokenRange> sequences{};
  std::int64_t tokens = 0;
  std::int64_t heads = 2;
  std::int64_t head_dim = 32;
  std::int64_t window = 4;
  DType dtype = DType::float32;
  Order order = Order::token_major;

  [[nodiscard]] cuda::BandProblem problem() const { return {sequences, heads, head_dim, window}; }
  [[nodiscard]] cpu::BandProblem on_cpu() const { return {sequences, heads, head_dim, window}; }
  [[nodiscard]] Inputs inputs(unsigned seed = 5) const {
    return random_inputs(tokens, heads, head_dim, order, 0, seed, dtype);
  }
  [[nodiscard]] std::string text() const {
    return fmt::format("w {} d {} {} {} up to token {}", window, head_dim, static_cast<int>(dtype),
                       name_of(order), tokens);
  }
  [[nodiscard]] bool holds(std::int64_t token) const {
    return std::ranges::any_of(
        sequences, [&](const TokenRange& s) { return token >= s.begin && token < s.end; });
  }
  /// Calls visit(head, row, key or -1, band index) for the whole band.
  template <typename Visit>
  void for_each_entry(const Visit& visit) const {
    std::size_t at = 0;
    for (const TokenRange& s : sequences) {
      for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t i = s.begin; i < s.end; ++i) {
          for (std::int64_t key = i - window; key <= i + window; ++key, ++at) {
            visit(h, i, key >= s.begin && key < s.end ? key : -1, at);
          }
        }
      }
    }
  }
  /// Random numbers, NaN where no pair is: they must not be read.
  [[nodiscard]] std::vector<float> random_band() const {
    std::vector<float> band(static_cast<std::size_t>(cuda::band_elements(problem())), nan);
    std::mt19937 random(9);
    std::uniform_real_distribution<float> uniform(-0.1f, 0.1f);
    for_each_entry([&](std::int64_t, std::int64_t, std::int64_t key, std::size_t at) {
      const float number = uniform(random);
      if (key >= 0) band[at] = number;
    });
    return band;
  }
};

Band ragged(std::int64_t window, DType dtype = DType::float32, std::int64_t head_dim = 32) {
  return {.sequences = {{0, 1}, {2, 19}, {19, 19}, {19, 52}, {60, 197}},
          .tokens = 200,
          .head_dim = head_dim,
          .window = window,
          .dtype = dtype};
}

DeviceArray<float> on_device(const std::vector<float>& band) {
  return {"band", std::span<const float>(band)};
}

void expect_done(const Status& status) {
  ASSERT_TRUE(status) << status.error().message;
}

struct Forward {
  std::vector<float> band;
  Packed o;
};

/// Both products, the second one with `weights`.
Forward run_forward(const Band& band, const Inputs& in, const std::vector<float>& weights) {
  const DeviceWork work(cuda::band_work(band.problem(), band.dtype, Passes::forward));
  EXPECT_EQ(work.work().score_elements(), cuda::band_elements(band.problem()));
  DeviceTensor q(in.q), k(in.k), v(in.v), o(like(in.q, untouched));
  const DeviceArray<float> scores = work.scores(), given = on_device(weights);
  expect_done(cuda::windowed_qk(work.work(), work.memory(), q.view(), k.view(), scale,
                                scores.data(), nullptr));
  EXPECT_TRUE(scores.written()) << band.text();
  expect_done(
      cuda::windowed_pv(work.work(), work.memory(), given.data(), v.view(), o.tensor(), nullptr));
  return {scores.values(), o.packed()};
}

struct Backward {
  Packed grad_q, grad_k, grad_v;
  std::vector<float> grad_band;
};

/// Of the two products, each with `weights` where it takes a band; grad_o is in.q.
Backward run_backward(const Band& band, const Inputs& in, const std::vector<float>& weights) {
  const DeviceWork work(cuda::band_work(band.problem(), band.dtype, Passes::forward_backward));
  const Packed empty = like(in.q, untouched);
  DeviceTensor q(in.q), k(in.k), v(in.v), grad_q(empty), grad_k(empty), grad_v(empty);
  const DeviceArray<float> given = on_device(weights), grad_band = work.scores();
  expect_done(cuda::windowed_qk_backward(work.work(), work.memory(), given.data(), q.view(),
                                         k.view(), scale, grad_q.tensor(), grad_k.tensor(),
                                         nullptr));
  expect_done(cuda::windowed_pv_backward(work.work(), work.memory(), given.data(), v.view(),
                                         q.view(), grad_band.data(), grad_v.tensor(), nullptr));
  EXPECT_TRUE(grad_band.written()) << band.text();
  return {grad_q.packed(), grad_k.packed(), grad_v.packed(), grad_band.values()};
}

void expect_rows(const Band& band, const Packed& actual, const Values& expected,
                 const std::string& what) {
  EXPECT_TRUE(gaps_are_untouched(actual)) << what;
  for (std::int64_t t = 0; t < band.tokens; ++t) {
    for (std::int64_t h = 0; h < band.heads; ++h) {
      for (std::int64_t x = 0; x < band.head_dim; ++x) {
        if (band.holds(t)) {
          const double error =
              2e-5 + 2 * unit_roundoff(band.dtype) * std::abs(expected.row(t, h)[x]);
          ASSERT_NEAR(actual.at(t, h, x), expected.row(t, h)[x], error)
              << what << " " << band.text() << " token " << t;
        } else {
          ASSERT_EQ(actual.at(t, h, x), untouched)
              << what << " wrote token " << t << " of no sequence";
        }
      }
    }
  }
}

void expect_products_right(const Band& band) {
  const Inputs in = band.inputs();
  const std::vector<float> weights = band.random_band();
  const Values q(in.q), k(in.k), v(in.v);
  const Values zeros(band.tokens, band.heads, band.head_dim);
  Values o = zeros, grad_q = zeros, grad_k = zeros, grad_v = zeros;
  std::vector<double> scores(weights.size(), 0.0), grad_band(weights.size(), 0.0);
  const std::int64_t d = band.head_dim;
  band.for_each_entry([&](std::int64_t h, std::int64_t i, std::int64_t key, std::size_t at) {
    if (key < 0) return;
    const double w = double{weights[at]};
    scores[at] = scale * dot(q.row(i, h), k.row(key, h), d);
    grad_band[at] = dot(q.row(i, h), v.row(key, h), d);
    add(w, v.row(key, h), d, o.row(i, h));
    add(scale * w, k.row(key, h), d, grad_q.row(i, h));
    add(scale * w, q.row(i, h), d, grad_k.row(key, h));
    add(w, q.row(i, h), d, grad_v.row(key, h));
  });
  const Forward forward = run_forward(band, in, weights);
  const Backward backward = run_backward(band, in, weights);
  expect_rows(band, forward.o, o, "o");
  expect_rows(band, backward.grad_q, grad_q, "grad_q");
  expect_rows(band, backward.grad_k, grad_k, "grad_k");
  expect_rows(band, backward.grad_v, grad_v, "grad_v");
  band.for_each_entry([&](std::int64_t, std::int64_t i, std::int64_t key, std::size_t at) {
    if (key < 0) {
      ASSERT_EQ(forward.band[at], 0.0f) << band.text() << " row " << i;
      ASSERT_EQ(backward.grad_band[at], 0.0f) << band.text() << " row " << i;
      return;
    }
    ASSERT_NEAR(forward.band[at], scores[at], 5e-5) << band.text() << " row " << i;
    ASSERT_NEAR(backward.grad_band[at], grad_band[at], 1e-4) << band.text() << " row " << i;
  });
}

class CudaWindowedProducts : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Type, CudaWindowedProducts,
                         ::testing::Values(DType::float32, DType::float16, DType::bfloat16),
                         name_of_parameter);

TEST_P(CudaWindowedProducts, OnRaggedSequences_MatchNaiveLoops) {
  for (const std::int64_t window : {0, 1, 4, 16, 64, 300}) {
    expect_products_right(ragged(window, GetParam()));
  }
}

TEST_P(CudaWindowedProducts, AtEveryLengthAndWindowUpTo24_MatchNaiveLoops) {
  // Sequences of every length stand side by side: the smallest windows, those about the length, and
  // windows wider than any sequence, for all lengths at once.
  Band band{.heads = 1, .head_dim = 8, .dtype = GetParam()};
  for (std::int64_t n = 1; n <= 24; ++n) {
    band.sequences.push_back({band.tokens, band.tokens + n});
    band.tokens += n;
  }
  for (band.window = 0; band.window <= 26; ++band.window) expect_products_right(band);
}

TEST_P(CudaWindowedProducts, OfEveryHeadDimensionAndMemoryOrder_MatchNaiveLoops) {
  for (const std::int64_t d : {8, 16, 20, 32, 33, 64, 100, 128, 200, 256}) {
    for (const Order order : {Order::token_major, Order::head_major}) {
      Band band{.sequences = {{0, 21}, {23, 60}},
                .tokens = 61,
                .head_dim = d,
                .window = 5,
                .dtype = GetParam(),
                .order = order};
      expect_products_right(band);
    }
  }
}

TEST_P(CudaWindowedProducts, OnSequencesOfSeveralTiles_MatchNaiveLoops) {
  for (const std::int64_t window : {3, 100}) {
    Band band{.sequences = {{3, 460}},
              .tokens = 461,
              .heads = 1,
              .head_dim = 64,
              .window = window,
              .dtype = GetParam()};
    expect_products_right(band);
  }
}

TEST_P(CudaWindowedProducts, WhoseWorkIsSplit_MatchNaiveLoops) {
  // One row of 4,001 columns, and 900 rows that all see the same keys.
  expect_products_right({.sequences = {{0, 9}},
                         .tokens = 9,
                         .heads = 1,
                         .head_dim = 8,
                         .window = 2000,
                         .dtype = GetParam()});
  expect_products_right({.sequences = {{0, 900}},
                         .tokens = 900,
                         .heads = 1,
                         .head_dim = 8,
                         .window = 450,
                         .dtype = GetParam()});
}

TEST_P(CudaWindowedProducts, AgreeWithTheCpu) {
  const Band band = ragged(16, GetParam());
  const Inputs in = band.inputs();
  const std::vector<float> weights = band.random_band();
  std::vector<float> scores(weights.size());
  Packed o = like(in.q, untouched);
  ASSERT_TRUE(cpu::windowed_qk(band.on_cpu(), in.q.view(), in.k.view(), scale, 1, scores));
  ASSERT_TRUE(cpu::windowed_pv(band.on_cpu(), weights, in.v.view(), 1, o.tensor()));
  const Forward forward = run_forward(band, in, weights);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    ASSERT_NEAR(forward.band[i], scores[i], 2e-5) << i;
  }
  expect_rows(band, forward.o, Values(o), "o");
}

TEST_P(CudaWindowedProducts, InAnotherOrderOfBlocksAndThreads_KeepEveryBit) {
  const Band band = ragged(64, GetParam());
  const Inputs in = band.inputs();
  const std::vector<float> weights = band.random_band();
  const Forward first = run_forward(band, in, weights);
  const Backward gradients = run_backward(band, in, weights);
  for (const std::uint64_t seed : {2, 3, 4}) {
    on_host::set_seed(seed);
    const Forward again = run_forward(band, in, weights);
    const Backward gradients_again = run_backward(band, in, weights);
    EXPECT_EQ(first.band, again.band);
    EXPECT_EQ(first.o.data, again.o.data);
    EXPECT_EQ(gradients.grad_q.data, gradients_again.grad_q.data);
    EXPECT_EQ(gradients.grad_k.data, gradients_again.grad_k.data);
    EXPECT_EQ(gradients.grad_v.data, gradients_again.grad_v.data);
    EXPECT_EQ(gradients.grad_band, gradients_again.grad_band);
  }
}

/// Rows that do not see the planted token keep every bit; the others show it.
void expect_confined(const Band& band, const Packed& clean, const Packed& dirty,
                     std::int64_t planted, const std::string& what) {
  for (std::int64_t t = 0; t < band.tokens; ++t) {
    if (!band.holds(t)) continue;
    const bool same_sequence = std::ranges::any_of(band.sequences, [&](const TokenRange& s) {
      return t >= s.begin && t < s.end && planted >= s.begin && planted < s.end;
    });
    const bool sees = same_sequence && std::abs(t - planted) <= band.window;
    for (std::int64_t h = 0; h < band.heads; ++h) {
      for (std::int64_t x = 0; x < band.head_dim; ++x) {
        if (sees) {
          ASSERT_FALSE(std::isfinite(dirty.at(t, h, x))) << what << " row " << t;
        } else {
          ASSERT_EQ(clean.at(t, h, x), dirty.at(t, h, x)) << what << " row " << t;
        }
      }
    }
  }
}

TEST_P(CudaWindowedProducts, OfPlantedNaNAndInfinity_ReachOnlyRowsThatSeeThem) {
  const Band band = ragged(4, GetParam());
  const Inputs clean = band.inputs();
  const std::vector<float> weights = band.random_band();
  const Packed o = run_forward(band, clean, weights).o;
  const Backward gradients = run_backward(band, clean, weights);
  for (const float value : {nan, inf}) {
    for (const std::int64_t token : {1, 2, 18, 19, 30, 59, 100, 196, 197}) {
      Inputs dirty = clean;
      for (Packed* tensor : {&dirty.q, &dirty.v}) {
        for (std::int64_t h = 0; h < band.heads; ++h) {
          for (std::int64_t x = 0; x < band.head_dim; ++x) tensor->at(token, h, x) = value;
        }
      }
      const std::string what = fmt::format("{} in token {}", value, token);
      expect_confined(band, o, run_forward(band, dirty, weights).o, token, "o " + what);
      const Backward reached = run_backward(band, dirty, weights);
      expect_confined(band, gradients.grad_k, reached.grad_k, token, "grad_k " + what);
      expect_confined(band, gradients.grad_v, reached.grad_v, token, "grad_v " + what);
    }
  }
}

TEST(CudaWindowedProductsNumbers, BandsBeyondSixteenBits_GiveWhatFloat32Gives) {
  // float16 ends at 65504.
  Band band = ragged(4, DType::float16);
  const Inputs in = band.inputs();
  std::vector<float> weights = band.random_band();
  for (std::size_t i = 0; i < weights.size(); i += 37) weights[i] *= 3e6f;
  Packed o = like(in.q, untouched);
  ASSERT_TRUE(cpu::windowed_pv(band.on_cpu(), weights, in.v.view(), 1, o.tensor()));
  const Packed actual = run_forward(band, in, weights).o;
  for (std::int64_t t = 0; t < band.tokens; ++t) {
    for (std::int64_t x = 0; x < band.head_dim; ++x) {
      const double expected = o.at(t, 0, x);
      if (std::isinf(expected)) {
        ASSERT_EQ(actual.at(t, 0, x), expected) << t;
      } else {
        ASSERT_NEAR(actual.at(t, 0, x), expected, 1e-3 * std::abs(expected) + 0.5) << t;
      }
    }
  }
}

TEST(CudaWindowedProductsArguments, ThatDoNotFitAreErrors) {
  const Band band = ragged(4);
  const Inputs in = band.inputs();
  const DeviceWork work(cuda::band_work(band.problem(), DType::float32, Passes::forward));
  DeviceTensor q(in.q), k(in.k), o(in.v);
  const DeviceArray<float> scores = work.scores();
  const auto message = [](const Status& status) {
    return status ? std::string("none") : status.error().message;
  };
  const auto qk = [&](const ConstTensor& keys, const cuda::WindowedMemory& memory, float* to) {
    return message(cuda::windowed_qk(work.work(), memory, q.view(), keys, scale, to, nullptr));
  };
  ConstTensor narrow = k.view(), other = k.view(), nowhere = k.view();
  narrow.head_dim = 16;
  other.dtype = DType::bfloat16;
  nowhere.data = nullptr;
  using ::testing::HasSubstr;
  EXPECT_EQ(qk(k.view(), work.memory(), scores.data()), "none");
  EXPECT_THAT(qk(narrow, work.memory(), scores.data()), HasSubstr("k has head dimension 16"));
  EXPECT_THAT(qk(other, work.memory(), scores.data()), HasSubstr("k is of another type"));
  EXPECT_THAT(qk(nowhere, work.memory(), scores.data()), HasSubstr("k has no data"));
  EXPECT_THAT(qk(k.view(), {}, scores.data()), HasSubstr("list()"));
  EXPECT_THAT(qk(k.view(), work.memory(), nullptr), HasSubstr("the band has no memory"));
  EXPECT_THAT(
      message(cuda::windowed_qk_backward(work.work(), work.memory(), scores.data(), q.view(),
                                         k.view(), scale, o.tensor(), o.tensor(), nullptr)),
      HasSubstr("forward pass alone"));
  const auto refused = [](const cuda::BandProblem& problem) {
    const auto made = cuda::band_work(problem, DType::float32, Passes::forward);
    return made ? std::string("none") : made.error().message;
  };
  EXPECT_THAT(refused({band.sequences, 2, 7, 4}), HasSubstr("head dimensions 8 to 256, not 7"));
  EXPECT_THAT(refused({band.sequences, 2, 257, 4}), HasSubstr("not 257"));
  EXPECT_THAT(refused({band.sequences, 2, 32, -1}), HasSubstr("at least 0"));
  EXPECT_THAT(refused({band.sequences, 0, 32, 4}), HasSubstr("at least 1"));
  EXPECT_THAT(refused({band.sequences, 2, 32, std::int64_t{1} << 62}), HasSubstr("infinite"));
  EXPECT_EQ(refused({{}, 2, 32, 4}), "none");
}

}  // namespace
}  // namespace attnscope::testing
