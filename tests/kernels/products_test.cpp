// SPDX-License-Identifier: Apache-2.0
//
// The paper's two products and their gradients against naive loops in float64.
#include "tests/kernels/products.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "engine/pattern/axes.h"
#include "tests/kernels/cases.h"

namespace attnscope::testing {
namespace {

Band ragged(std::int64_t window, DType dtype, std::int64_t head_dim = 32,
            Order order = Order::token_major_apart) {
  return {.sequences = {{0, 1}, {2, 19}, {19, 19}, {19, 52}, {60, 197}},
          .tokens = 200,
          .head_dim = head_dim,
          .window = window,
          .dtype = dtype,
          .order = order};
}

std::string band_text(const Band& band) {
  return fmt::format("w {} d {} {} {} up to token {}", band.window, band.head_dim,
                     attnscope::name_of(band.dtype), name_of(band.order), band.tokens);
}

Inputs inputs_of(const Band& band) {
  return random_inputs(band.tokens, band.heads, band.head_dim, band.order, 0, 5, band.dtype);
}

/// The sequence of the token, or an empty one.
TokenRange sequence_of(const Band& band, std::int64_t token) {
  for (const TokenRange& s : band.sequences) {
    if (token >= s.begin && token < s.end) return s;
  }
  return {};
}

/// Calls visit(head, row, key or -1, band index) for the whole band: a row of 2w+1 columns about
/// its token or, where that is more than the sequence has, of a column a token.
template <typename Visit>
void for_each_entry(const Band& band, const Visit& visit) {
  std::size_t at = 0;
  for (const TokenRange& s : band.sequences) {
    const std::int64_t columns = std::min(2 * band.window + 1, s.size());
    for (std::int64_t h = 0; h < band.heads; ++h) {
      for (std::int64_t i = s.begin; i < s.end; ++i) {
        const std::int64_t first = columns < 2 * band.window + 1 ? s.begin : i - band.window;
        for (std::int64_t key = first; key < first + columns; ++key, ++at) {
          const bool pair = key >= s.begin && key < s.end && std::abs(key - i) <= band.window;
          visit(h, i, pair ? key : -1, at);
        }
      }
    }
  }
}

/// Random numbers, NaN where no pair is: they must not be read.
std::vector<float> random_weights(const Band& band) {
  std::vector<float> weights(static_cast<std::size_t>(band_elements(band.problem())), nan);
  std::mt19937 random(9);
  std::uniform_real_distribution<float> uniform(-0.1f, 0.1f);
  for_each_entry(band, [&](std::int64_t, std::int64_t, std::int64_t key, std::size_t at) {
    const float number = uniform(random);
    if (key >= 0) weights[at] = number;
  });
  return weights;
}

void expect_rows(const Band& band, const Packed& actual, const Values& expected,
                 const std::string& what) {
  EXPECT_TRUE(gaps_are_untouched(actual)) << what;
  for (std::int64_t t = 0; t < band.tokens; ++t) {
    const bool held = !sequence_of(band, t).empty();
    for (std::int64_t h = 0; h < band.heads; ++h) {
      for (std::int64_t x = 0; x < band.head_dim; ++x) {
        const double number = held ? expected.row(t, h)[x] : double{untouched};
        const double error = held ? 2e-5 + 2 * unit_roundoff(band.dtype) * std::abs(number) : 0.0;
        ASSERT_TRUE(std::abs(actual.at(t, h, x) - number) <= error)
            << what << " token " << t << " is " << actual.at(t, h, x) << ", not " << number;
      }
    }
  }
}

void expect_products_right(const Band& band) {
  const Inputs in = inputs_of(band);
  const std::vector<float> weights = random_weights(band);
  const Values q(in.q), k(in.k), v(in.v);
  const Values zeros(band.tokens, band.heads, band.head_dim);
  Values o = zeros, grad_q = zeros, grad_k = zeros, grad_v = zeros;
  std::vector<double> scores(weights.size(), 0.0), grad_band(weights.size(), 0.0);
  const std::int64_t d = band.head_dim;
  constexpr double scale = double{products_scale};
  for_each_entry(band, [&](std::int64_t h, std::int64_t i, std::int64_t key, std::size_t at) {
    if (key < 0) return;
    const double w = double{weights[at]};
    scores[at] = scale * dot(q.row(i, h), k.row(key, h), d);
    grad_band[at] = dot(q.row(i, h), v.row(key, h), d);
    add(w, v.row(key, h), d, o.row(i, h));
    add(scale * w, k.row(key, h), d, grad_q.row(i, h));
    add(scale * w, q.row(i, h), d, grad_k.row(key, h));
    add(w, q.row(i, h), d, grad_v.row(key, h));
  });
  product_subject().for_each_build([&](const std::string& build) {
    const std::string what = build + " " + band_text(band);
    const Products forward = product_subject().forward(band, in, weights, 1);
    const ProductGradients backward = product_subject().backward(band, in, weights, 1);
    expect_rows(band, forward.o, o, "o " + what);
    expect_rows(band, backward.grad_q, grad_q, "grad_q " + what);
    expect_rows(band, backward.grad_k, grad_k, "grad_k " + what);
    expect_rows(band, backward.grad_v, grad_v, "grad_v " + what);
    for_each_entry(band, [&](std::int64_t, std::int64_t i, std::int64_t key, std::size_t at) {
      // The band is exactly 0 without a pair.
      const double score = std::abs(forward.band[at] - scores[at]);
      const double gradient = std::abs(backward.grad_band[at] - grad_band[at]);
      ASSERT_TRUE(score <= (key < 0 ? 0 : 5e-5)) << "band " << what << " row " << i;
      ASSERT_TRUE(gradient <= (key < 0 ? 0 : 1e-4)) << "grad_band " << what << " row " << i;
    });
  });
}

class WindowedProducts : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Type, WindowedProducts, ::testing::ValuesIn(dtypes), name_of_dtype);

TEST_P(WindowedProducts, OnRaggedSequences_MatchNaiveLoops) {
  for (const std::int64_t window : {0L, 1L, 4L, 16L, 64L, 1L << 61}) {
    expect_products_right(ragged(window, GetParam()));
    if (product_subject().emulated) continue;
    for (const std::int64_t d : {8, 20, 64}) {
      for (const Order order : {Order::token_major_apart, Order::head_major}) {
        expect_products_right(ragged(window, GetParam(), d, order));
      }
    }
  }
}

TEST_P(WindowedProducts, AtEveryLengthAndWindowUpTo24_MatchNaiveLoops) {
  // Sequences of every length in one call: the smallest windows, those around the length, and
  // windows wider than any sequence.
  Band band{.heads = 1, .head_dim = 8, .dtype = GetParam()};
  for (std::int64_t n = 1; n <= 24; ++n) {
    band.sequences.push_back({band.tokens, band.tokens + n});
    band.tokens += n;
  }
  for (band.window = 0; band.window <= 26; ++band.window) expect_products_right(band);
}

TEST_P(WindowedProducts, WithWindowsWiderThanTheSequence_MatchNaiveLoops) {
  // The bands change from 2w+1 columns to one column per token, all of which a row sees. 72 tokens
  // exceed the rows and keys of a block on the GPU.
  std::vector<std::int64_t> windows;
  for (std::int64_t window = 34; window <= 73; ++window) windows.push_back(window);
  if (product_subject().emulated) windows = {34, 35, 36, 37, 70, 71, 73};
  for (const std::int64_t window : windows) {
    const Band band{.sequences = {{0, 72}, {74, 74 + 71}, {150, 150 + 33}},
                    .tokens = 185,
                    .heads = 1,
                    .head_dim = 16,
                    .window = window,
                    .dtype = GetParam()};
    expect_products_right(band);
    std::int64_t entries = 0;
    for_each_entry(band, [&](std::int64_t, std::int64_t, std::int64_t, std::size_t) { ++entries; });
    EXPECT_EQ(band_elements(band.problem()), entries) << window;
  }
}

TEST_P(WindowedProducts, OfEveryHeadDimensionAndMemoryOrder_MatchNaiveLoops) {
  std::size_t number = 0;
  for (const std::int64_t d : {8, 16, 20, 32, 33, 64, 100, 128, 200, 256}) {
    for (int order = 0; order < 2; ++order) {
      expect_products_right({.sequences = {{0, 21}, {23, 60}},
                             .tokens = 61,
                             .head_dim = d,
                             .window = 5,
                             .dtype = GetParam(),
                             .order = orders.at(number++ % orders.size())});
    }
  }
}

TEST_P(WindowedProducts, OfLongSequences_MatchNaiveLoops) {
  Band band{.heads = 1, .head_dim = 64, .dtype = GetParam()};
  // Several tiles.
  band.sequences = {{3, 460}};
  band.tokens = 461;
  for (band.window = 3; band.window <= 100; band.window += 97) expect_products_right(band);
  // The work is split: 1,537 rows all see the same keys; the last row is alone in its block.
  band.sequences = {{0, 1537}};
  band.tokens = 1537;
  band.head_dim = 8;
  band.window = 768;
  expect_products_right(band);
}

TEST_P(WindowedProducts, InAnotherOrder_KeepEveryBit) {
  const Band band = ragged(64, GetParam());
  const Inputs in = inputs_of(band);
  const std::vector<float> weights = random_weights(band);
  const Products first = product_subject().forward(band, in, weights, 1);
  const ProductGradients gradients = product_subject().backward(band, in, weights, 1);
  for (const int order : {2, 3, 4}) {
    const Products again = product_subject().forward(band, in, weights, order);
    const ProductGradients gradients_again = product_subject().backward(band, in, weights, order);
    EXPECT_EQ(first.band, again.band);
    EXPECT_EQ(first.o.data, again.o.data);
    EXPECT_EQ(gradients.grad_q.data, gradients_again.grad_q.data);
    EXPECT_EQ(gradients.grad_k.data, gradients_again.grad_k.data);
    EXPECT_EQ(gradients.grad_v.data, gradients_again.grad_v.data);
    EXPECT_EQ(gradients.grad_band, gradients_again.grad_band);
  }
}

/// Rows that do not see the planted token keep every bit; the others are not finite.
void expect_confined(const Band& band, const Packed& clean, const Packed& dirty,
                     std::int64_t planted, const std::string& what) {
  for (std::int64_t t = 0; t < band.tokens; ++t) {
    const TokenRange s = sequence_of(band, t);
    if (s.empty()) continue;
    const bool sees = planted >= s.begin && planted < s.end && std::abs(t - planted) <= band.window;
    for (std::int64_t h = 0; h < band.heads; ++h) {
      for (std::int64_t x = 0; x < band.head_dim && sees; ++x) {
        ASSERT_FALSE(std::isfinite(dirty.at(t, h, x))) << what << " row " << t;
      }
      ASSERT_TRUE(sees || same_row(clean, dirty, t, h)) << what << " row " << t;
    }
  }
}

TEST_P(WindowedProducts, OfPlantedNaNAndInfinity_ReachOnlyRowsThatSeeThem) {
  const Band band = ragged(4, GetParam());
  const Inputs clean = inputs_of(band);
  const std::vector<float> weights = random_weights(band);
  product_subject().for_each_build([&](const std::string& build) {
    const Packed o = product_subject().forward(band, clean, weights, 1).o;
    const ProductGradients gradients = product_subject().backward(band, clean, weights, 1);
    for (const float value : {nan, inf}) {
      for (const std::int64_t token : {1, 2, 18, 19, 30, 59, 100, 196, 197}) {
        Inputs dirty = clean;
        for (Packed* tensor : {&dirty.q, &dirty.v}) {
          for (std::int64_t h = 0; h < band.heads; ++h) {
            for (std::int64_t x = 0; x < band.head_dim; ++x) tensor->at(token, h, x) = value;
          }
        }
        const std::string what = fmt::format("{} {} in token {}", build, value, token);
        const Products reached = product_subject().forward(band, dirty, weights, 1);
        expect_confined(band, o, reached.o, token, "o " + what);
        const ProductGradients back = product_subject().backward(band, dirty, weights, 1);
        expect_confined(band, gradients.grad_k, back.grad_k, token, "grad_k " + what);
        expect_confined(band, gradients.grad_v, back.grad_v, token, "grad_v " + what);
        for_each_entry(band, [&](std::int64_t, std::int64_t i, std::int64_t key, std::size_t at) {
          if (i == token || (key == token && key >= 0)) return;
          ASSERT_TRUE(std::isfinite(reached.band[at])) << "band " << what << " row " << i;
          ASSERT_TRUE(std::isfinite(back.grad_band[at])) << "grad_band " << what << " row " << i;
        });
      }
    }
  });
}

TEST(WindowedProductsNumbers, BandsBeyondFloat16_GiveTheResultsOfFloat32) {
  // The largest float16 is 65504; larger results are infinite.
  const Band band = ragged(4, DType::float16);
  const Inputs in = inputs_of(band);
  std::vector<float> weights = random_weights(band);
  for (std::size_t i = 0; i < weights.size(); i += 37) weights[i] *= 3e6f;
  const Values v(in.v);
  Values expected(band.tokens, band.heads, band.head_dim);
  for_each_entry(band, [&](std::int64_t h, std::int64_t i, std::int64_t key, std::size_t at) {
    if (key >= 0) add(double{weights[at]}, v.row(key, h), band.head_dim, expected.row(i, h));
  });
  product_subject().for_each_build([&](const std::string& build) {
    const Packed o = product_subject().forward(band, in, weights, 1).o;
    int infinite = 0;
    for (std::int64_t t = 0; t < band.tokens; ++t) {
      if (sequence_of(band, t).empty()) continue;
      for (std::int64_t x = 0; x < band.head_dim; ++x) {
        const double number = expected.row(t, 0)[x], got = double{o.at(t, 0, x)};
        infinite += std::isinf(got) ? 1 : 0;
        const double error = 1e-3 * std::abs(number) + 0.5;
        ASSERT_TRUE(std::isinf(got) ? std::abs(number) > 65500 && std::signbit(got) == (number < 0)
                                    : std::abs(got - number) <= error)
            << build << " token " << t << " is " << got << ", not " << number;
      }
    }
    EXPECT_GT(infinite, 0) << build;
  });
}

}  // namespace
}  // namespace attnscope::testing
