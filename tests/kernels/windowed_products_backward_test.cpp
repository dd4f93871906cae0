// SPDX-License-Identifier: Apache-2.0
//
// The gradients of the paper's two products against naive loops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "kernels/cpu/windowed.h"
#include "tests/kernels/attention_case.h"
#include "tests/kernels/guarded_workspace.h"

namespace attnscope::testing {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
const std::vector<TokenRange> sequences{{0, 1}, {2, 19}, {19, 19}, {19, 52}, {60, 197}};
constexpr std::int64_t tokens = 200;
constexpr std::int64_t heads = 2;
constexpr float scale = 0.5f;

/// Calls visit(head, row, key, band index) for the pairs within sequences and window.
template <typename Visit>
void for_each_pair(const cpu::BandProblem& problem, const Visit& visit) {
  const std::int64_t w = problem.window;
  std::int64_t at = 0;
  for (const TokenRange& s : problem.sequences) {
    for (std::int64_t h = 0; h < problem.heads; ++h) {
      for (std::int64_t i = s.begin; i < s.end; ++i) {
        for (std::int64_t key = i - w; key <= i + w; ++key, ++at) {
          if (key >= s.begin && key < s.end) visit(h, i, key, static_cast<std::size_t>(at));
        }
      }
    }
  }
}

/// A band of random numbers, NaN where no pair is.
std::vector<float> random_band(const cpu::BandProblem& problem) {
  std::vector<float> band(static_cast<std::size_t>(cpu::band_elements(problem)), nan);
  std::mt19937 random(9);
  std::uniform_real_distribution<float> uniform(-0.1f, 0.1f);
  for_each_pair(problem, [&](std::int64_t, std::int64_t, std::int64_t, std::size_t at) {
    band[at] = uniform(random);
  });
  return band;
}

bool in_a_sequence(std::int64_t token) {
  return std::ranges::any_of(
      sequences, [&](const TokenRange& s) { return token >= s.begin && token < s.end; });
}

void expect_rows(const Packed& actual, const Values& expected, const std::string& what) {
  EXPECT_TRUE(gaps_are_untouched(actual)) << what;
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t x = 0; x < actual.head_dim; ++x) {
        if (in_a_sequence(t)) {
          const double error =
              1e-5 + 2 * unit_roundoff(actual.dtype) * std::abs(expected.row(t, h)[x]);
          ASSERT_NEAR(actual.at(t, h, x), expected.row(t, h)[x], error) << what << " token " << t;
        } else {
          ASSERT_EQ(actual.at(t, h, x), 99.0f) << what << " wrote token " << t << " of no sequence";
        }
      }
    }
  }
}

class WindowedProductsBackward : public ::testing::TestWithParam<std::tuple<std::int64_t, DType>> {
};
INSTANTIATE_TEST_SUITE_P(Window, WindowedProductsBackward,
                         ::testing::Combine(::testing::Values(0, 1, 4, 16, 64, 300),
                                            ::testing::Values(DType::float32, DType::float16,
                                                              DType::bfloat16)));

TEST_P(WindowedProductsBackward, OfQueriesTimesKeys_MatchesNaiveLoops) {
  const auto [window, dtype] = GetParam();
  for (const std::int64_t d : {8, 20, 32, 64}) {
    const cpu::BandProblem problem{sequences, heads, d, window};
    const std::vector<float> grad_band = random_band(problem);
    for (const Order order : {Order::token_major, Order::head_major}) {
      const Inputs in = random_inputs(tokens, heads, d, order, 0, 5, dtype);
      Values grad_q(tokens, heads, d), grad_k(tokens, heads, d);
      for_each_pair(problem, [&](std::int64_t h, std::int64_t i, std::int64_t key, std::size_t at) {
        for (std::int64_t x = 0; x < d; ++x) {
          grad_q.row(i, h)[x] += scale * double{grad_band[at]} * in.k.at(key, h, x);
          grad_k.row(key, h)[x] += scale * double{grad_band[at]} * in.q.at(i, h, x);
        }
      });
      for_each_instruction_set([&](cpu::InstructionSet set) {
        Packed q = like(in.q, 99.0f), k = like(in.q, 99.0f);
        const Status done = cpu::windowed_qk_backward(problem, grad_band, in.q.view(), in.k.view(),
                                                      scale, 2, q.tensor(), k.tensor());
        ASSERT_TRUE(done) << done.error().message;
        expect_rows(q, grad_q, "grad_q " + std::string(cpu::name_of(set)));
        expect_rows(k, grad_k, "grad_k " + std::string(cpu::name_of(set)));
      });
    }
  }
}

TEST_P(WindowedProductsBackward, OfWeightsTimesValues_MatchesNaiveLoops) {
  const auto [window, dtype] = GetParam();
  for (const std::int64_t d : {8, 20, 32, 64}) {
    const cpu::BandProblem problem{sequences, heads, d, window};
    const std::vector<float> band = random_band(problem);
    for (const Order order : {Order::token_major, Order::head_major}) {
      const Inputs in = random_inputs(tokens, heads, d, order, 0, 6, dtype);
      const Packed& grad_o = in.q;
      Values grad_v(tokens, heads, d);
      std::vector<double> expected(band.size(), 0.0);
      for_each_pair(problem, [&](std::int64_t h, std::int64_t i, std::int64_t key, std::size_t at) {
        for (std::int64_t x = 0; x < d; ++x) {
          grad_v.row(key, h)[x] += double{band[at]} * grad_o.at(i, h, x);
          expected[at] += double{grad_o.at(i, h, x)} * in.v.at(key, h, x);
        }
      });
      for_each_instruction_set([&](cpu::InstructionSet set) {
        Packed v = like(in.q, 99.0f);
        GuardedWorkspace grad_band(cpu::band_elements(problem) * 4);
        const Status done = cpu::windowed_pv_backward(problem, band, in.v.view(), grad_o.view(), 2,
                                                      grad_band.floats(), v.tensor());
        ASSERT_TRUE(done) << done.error().message;
        EXPECT_TRUE(grad_band.guards_are_intact());
        expect_rows(v, grad_v, "grad_v " + std::string(cpu::name_of(set)));
        for (std::size_t i = 0; i < expected.size(); ++i) {
          ASSERT_NEAR(grad_band.floats()[i], expected[i], 4e-5) << cpu::name_of(set) << " " << i;
        }
      });
    }
  }
}

TEST(WindowedProductsBackwardThreads, TheirNumberDoesNotChangeABit) {
  const cpu::BandProblem problem{sequences, heads, 32, 16};
  const Inputs in = random_inputs(tokens, heads, 32, Order::token_major, 0, 5);
  const std::vector<float> band = random_band(problem);
  std::vector<std::byte> first_k, first_v;
  for (const int threads : {1, 2, 3}) {
    Packed q = in.q, k = in.q, v = in.q;
    std::vector<float> grad_band(band.size());
    ASSERT_TRUE(cpu::windowed_qk_backward(problem, band, in.q.view(), in.k.view(), 1.0f, threads,
                                          q.tensor(), k.tensor()));
    ASSERT_TRUE(cpu::windowed_pv_backward(problem, band, in.v.view(), in.q.view(), threads,
                                          grad_band, v.tensor()));
    if (first_k.empty()) first_k = k.data, first_v = v.data;
    EXPECT_EQ(first_k, k.data);
    EXPECT_EQ(first_v, v.data);
  }
}

TEST(WindowedProductsBackwardArguments, ThatDoNotFitAreErrors) {
  cpu::BandProblem problem{sequences, heads, 32, 4};
  const Inputs in = random_inputs(tokens, heads, 32, Order::head_major, 0, 5);
  Packed a = in.q, b = in.q;
  std::vector<float> band(static_cast<std::size_t>(cpu::band_elements(problem)));
  const auto qk = [&](std::span<const float> of, const Tensor& grad_k, int threads) {
    const Status done = cpu::windowed_qk_backward(problem, of, in.q.view(), in.k.view(), 1.0f,
                                                  threads, a.tensor(), grad_k);
    return done ? std::string("none") : done.error().message;
  };
  const auto pv = [&](std::span<float> of, const Tensor& grad_v, int threads) {
    const Status done =
        cpu::windowed_pv_backward(problem, band, in.v.view(), in.q.view(), threads, of, grad_v);
    return done ? std::string("none") : done.error().message;
  };
  const std::span<float> short_band = std::span(band).first(band.size() - 1);
  Tensor narrow = b.tensor();
  narrow.head_dim = 16;
  EXPECT_EQ(qk(band, b.tensor(), 1), "none");
  EXPECT_EQ(pv(band, b.tensor(), 1), "none");
  EXPECT_THAT(qk(short_band, b.tensor(), 1), ::testing::HasSubstr("band_elements"));
  EXPECT_THAT(pv(short_band, b.tensor(), 1), ::testing::HasSubstr("band_elements"));
  EXPECT_THAT(qk(band, narrow, 1), ::testing::HasSubstr("grad_k has head dimension 16"));
  EXPECT_THAT(pv(band, narrow, 1), ::testing::HasSubstr("grad_v has head dimension 16"));
  EXPECT_THAT(qk(band, b.tensor(), 0), ::testing::HasSubstr("thread"));
  problem.window = -1;
  EXPECT_THAT(pv(band, b.tensor(), 1), ::testing::HasSubstr("at least 0"));
}

}  // namespace
}  // namespace attnscope::testing
