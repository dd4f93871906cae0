// SPDX-License-Identifier: Apache-2.0
//
// The paper's two products against naive loops.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "kernels/cpu/windowed.h"
#include "tests/kernels/attention_case.h"

namespace attnscope::testing {
namespace {

const std::vector<TokenRange> sequences{{0, 1}, {2, 19}, {19, 19}, {19, 52}, {60, 197}};
constexpr std::int64_t tokens = 200;
constexpr std::int64_t heads = 2;

std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

/// Calls visit(head, row token, column, band index, key token or -1) for the whole band.
template <typename Visit>
void for_each_entry(const cpu::BandProblem& problem, const Visit& visit) {
  const std::int64_t w = problem.window;
  std::int64_t at = 0;
  for (const TokenRange& s : problem.sequences) {
    for (std::int64_t h = 0; h < problem.heads; ++h) {
      for (std::int64_t i = s.begin; i < s.end; ++i) {
        for (std::int64_t j = 0; j < 2 * w + 1; ++j, ++at) {
          const std::int64_t key = i + j - w;
          visit(h, i, index(at), key >= s.begin && key < s.end ? key : -1);
        }
      }
    }
  }
}

class WindowedProducts : public ::testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(Window, WindowedProducts, ::testing::Values(0, 1, 4, 16, 64, 300));

TEST_P(WindowedProducts, QueriesTimesKeys_MatchNaiveLoops) {
  for (const std::int64_t d : {8, 20, 32, 64}) {
    const cpu::BandProblem problem{sequences, heads, d, GetParam()};
    for (const Order order : {Order::token_major, Order::head_major}) {
      const Inputs in = random_inputs(tokens, heads, d, order, 0, 5);
      for_each_instruction_set([&](cpu::InstructionSet set) {
        std::vector<float> band(index(cpu::band_elements(problem)), 7.0f);
        const Status done = cpu::windowed_qk(problem, in.q.view(), in.k.view(), 0.5f, 2, band);
        ASSERT_TRUE(done) << done.error().message;
        for_each_entry(
            problem, [&](std::int64_t h, std::int64_t i, std::size_t at, std::int64_t key) {
              double expected = 0;
              for (std::int64_t x = 0; x < d && key >= 0; ++x) {
                expected += 0.5 * static_cast<double>(in.q.at(i, h, x)) * in.k.at(key, h, x);
              }
              ASSERT_NEAR(band[at], expected, 2e-5)
                  << cpu::name_of(set) << " head " << h << " row " << i << " key " << key;
            });
      });
    }
  }
}

TEST_P(WindowedProducts, WeightsTimesValues_MatchNaiveLoops) {
  for (const std::int64_t d : {8, 20, 32, 64}) {
    const cpu::BandProblem problem{sequences, heads, d, GetParam()};
    for (const Order order : {Order::token_major, Order::head_major}) {
      const Inputs in = random_inputs(tokens, heads, d, order, 0, 6);
      // Entries outside the sequences are NaN: they must not be read.
      std::vector<float> band(index(cpu::band_elements(problem)),
                              std::numeric_limits<float>::quiet_NaN());
      std::vector<double> expected(index(tokens * heads * d), 0.0);
      std::mt19937 random(9);
      std::uniform_real_distribution<float> uniform(0.0f, 0.1f);
      for_each_entry(problem,
                     [&](std::int64_t h, std::int64_t i, std::size_t at, std::int64_t key) {
                       if (key < 0) return;
                       band[at] = uniform(random);
                       for (std::int64_t x = 0; x < d; ++x) {
                         expected[index((i * heads + h) * d + x)] +=
                             static_cast<double>(band[at]) * in.v.at(key, h, x);
                       }
                     });
      for_each_instruction_set([&](cpu::InstructionSet set) {
        Packed o(tokens, heads, d, order, 0, 99.0f);
        const Status done = cpu::windowed_pv(problem, band, in.v.view(), 2, o.tensor());
        ASSERT_TRUE(done) << done.error().message;
        for (const TokenRange& s : sequences) {
          for (std::int64_t i = s.begin; i < s.end; ++i) {
            for (std::int64_t h = 0; h < heads; ++h) {
              for (std::int64_t x = 0; x < d; ++x) {
                ASSERT_NEAR(o.at(i, h, x), expected[index((i * heads + h) * d + x)], 1e-5)
                    << cpu::name_of(set) << " row " << i;
              }
            }
          }
        }
        EXPECT_EQ(o.at(1, 0, 0), 99.0f) << "a row of no sequence was written";
        EXPECT_EQ(o.at(52, 0, 0), 99.0f) << "a row of no sequence was written";
        EXPECT_EQ(o.at(197, 1, d - 1), 99.0f) << "a row of no sequence was written";
      });
    }
  }
}

TEST(WindowedProductsMemory, NaNBeyondASequence_DoesNotReachTheBand) {
  const cpu::BandProblem problem{sequences, heads, 32, 16};
  Inputs in = random_inputs(tokens, heads, 32, Order::token_major, 0, 5);
  for (const std::int64_t outside : {1, 52, 59, 197, 199}) {
    for (std::int64_t h = 0; h < heads; ++h) {
      in.k.at(outside, h, 3) = in.v.at(outside, h, 4) = std::numeric_limits<float>::quiet_NaN();
    }
  }
  for_each_instruction_set([&](cpu::InstructionSet) {
    std::vector<float> band(index(cpu::band_elements(problem)), 7.0f);
    ASSERT_TRUE(cpu::windowed_qk(problem, in.q.view(), in.k.view(), 1.0f, 2, band));
    for (const float b : band) ASSERT_TRUE(std::isfinite(b));
    Packed o(tokens, heads, 32, Order::token_major, 0, 0.0f);
    ASSERT_TRUE(cpu::windowed_pv(problem, band, in.v.view(), 2, o.tensor()));
    for (std::int64_t t = 0; t < tokens; ++t) {
      for (std::int64_t x = 0; x < 32; ++x) ASSERT_TRUE(std::isfinite(o.at(t, 0, x)));
    }
  });
}

TEST(WindowedProductsMemory, TheBandIsWrittenExactly) {
  const cpu::BandProblem problem{sequences, heads, 32, 4};
  const Inputs in = random_inputs(tokens, heads, 32, Order::head_major, 0, 5);
  EXPECT_EQ(cpu::band_elements(problem), heads * (1 + 17 + 33 + 137) * 9);
  for_each_instruction_set([&](cpu::InstructionSet) {
    std::vector<float> memory(index(cpu::band_elements(problem)) + 32, -3.0f);
    const std::span<float> band(memory.data(), memory.size() - 32);
    ASSERT_TRUE(cpu::windowed_qk(problem, in.q.view(), in.k.view(), 1.0f, 1, band));
    for (std::size_t i = band.size(); i < memory.size(); ++i) EXPECT_EQ(memory[i], -3.0f);
  });
}

TEST(WindowedProductsThreads, TheirNumberDoesNotChangeABit) {
  const cpu::BandProblem problem{sequences, heads, 32, 16};
  const Inputs in = random_inputs(tokens, heads, 32, Order::token_major, 0, 5);
  std::vector<float> first;
  for (const int threads : {1, 2, 3}) {
    std::vector<float> band(index(cpu::band_elements(problem)));
    ASSERT_TRUE(cpu::windowed_qk(problem, in.q.view(), in.k.view(), 1.0f, threads, band));
    if (first.empty()) first = band;
    EXPECT_EQ(0, std::memcmp(first.data(), band.data(), band.size() * sizeof(float)));
  }
}

}  // namespace
}  // namespace attnscope::testing
