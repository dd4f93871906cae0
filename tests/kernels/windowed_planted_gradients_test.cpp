// SPDX-License-Identifier: Apache-2.0
//
// NaN and infinity planted in one token's operands: only gradients that the token takes part in
// show them, all others keep every bit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "tests/kernels/windowed_gradient_case.h"

namespace attnscope::testing {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float inf = std::numeric_limits<float>::infinity();

const SequenceLayout two_items = *SequenceLayout::make(
    {{.cls = 1, .query = 5, .documents = {70}}, {.cls = 1, .query = 5, .documents = {20, 33}}});

/// The tokens whose gradients of q, or of k and v, may change when a token's operand does.
struct Touched {
  std::set<std::int64_t> rows, keys;
};

void expect_kept(const Packed& clean, const Packed& dirty, const std::set<std::int64_t>& touched,
                 const std::string& what) {
  for (std::int64_t t = 0; t < clean.tokens; ++t) {
    if (touched.contains(t)) continue;
    for (std::int64_t h = 0; h < clean.heads; ++h) {
      for (std::int64_t x = 0; x < clean.head_dim; ++x) {
        ASSERT_EQ(clean.at(t, h, x), dirty.at(t, h, x)) << what << " token " << t;
      }
    }
  }
}

bool any_not_finite(const Packed& gradient, std::int64_t token) {
  for (std::int64_t x = 0; x < gradient.head_dim; ++x) {
    if (!std::isfinite(gradient.at(token, 0, x))) return true;
  }
  return false;
}

/// Plants in the operand that `operand_of` picks at each of the tokens in turn.
void expect_confined(const AttentionCase& problem, std::initializer_list<std::int64_t> tokens,
                     const std::function<Packed&(Inputs&, Packed& grad_o)>& operand_of,
                     const std::function<Touched(const KeysOf&, std::int64_t tokens,
                                                 std::int64_t planted)>& touched_by) {
  const AttentionPlan plan = problem.plan();
  const KeysOf keys = problem.keys();
  const Inputs clean_inputs = random_inputs(problem);
  const Packed clean_grad_o = random_like(clean_inputs.q, 7);
  for_each_instruction_set([&](cpu::InstructionSet set) {
    const Gradients clean = run_windowed_backward(plan, clean_inputs, clean_grad_o);
    for (const std::int64_t token : tokens) {
      for (const float planted : {nan, inf, -inf}) {
        Inputs inputs = clean_inputs;
        Packed grad_o = clean_grad_o;
        Packed& operand = operand_of(inputs, grad_o);
        for (std::int64_t h = 0; h < problem.heads; ++h) operand.at(token, h, 3) = planted;
        const Touched touched = touched_by(keys, plan.tokens, token);
        const Gradients dirty = run_windowed_backward(plan, inputs, grad_o);
        const std::string what =
            fmt::format("{} {} token {} {}", cpu::name_of(set), planted, token, problem.text());
        expect_kept(clean.q, dirty.q, touched.rows, "grad_q " + what);
        expect_kept(clean.k, dirty.k, touched.keys, "grad_k " + what);
        expect_kept(clean.v, dirty.v, touched.keys, "grad_v " + what);
        bool shown = false;
        for (const std::int64_t t : touched.rows) shown = shown || any_not_finite(dirty.q, t);
        for (const std::int64_t t : touched.keys) shown = shown || any_not_finite(dirty.v, t);
        EXPECT_TRUE(shown || touched.rows.empty()) << what << " is hidden";
      }
    }
  });
}

/// A row's operand reaches the row and the keys it sees.
Touched by_row(const KeysOf& keys, std::int64_t, std::int64_t planted) {
  Touched touched;
  for (const std::int64_t key : keys(planted, 0)) touched.keys.insert(key);
  touched.rows.insert(planted);
  return touched;
}

/// A key's operand reaches all rows that see it, and what these see.
Touched by_key(const KeysOf& keys, std::int64_t tokens, std::int64_t planted) {
  Touched touched;
  for (std::int64_t row = 0; row < tokens; ++row) {
    const std::vector<std::int64_t> seen = keys(row, 0);
    if (!std::ranges::binary_search(seen, planted)) continue;
    touched.rows.insert(row);
    touched.keys.insert(seen.begin(), seen.end());
  }
  return touched;
}

void expect_confined(const AttentionCase& problem, std::initializer_list<std::int64_t> tokens) {
  expect_confined(
      problem, tokens, [](Inputs& in, Packed&) -> Packed& { return in.q; }, by_row);
  expect_confined(
      problem, tokens, [](Inputs&, Packed& grad_o) -> Packed& { return grad_o; }, by_row);
  expect_confined(
      problem, tokens, [](Inputs& in, Packed&) -> Packed& { return in.k; }, by_key);
  expect_confined(
      problem, tokens, [](Inputs& in, Packed&) -> Packed& { return in.v; }, by_key);
}

TEST(PlantedGradients, InTheSparsePattern_StayWithTheTokensTheyMeet) {
  for (const Order order : {Order::token_major, Order::head_major}) {
    for (const std::int64_t w : {0, 1, 4}) {
      expect_confined({.window = Window::of(w), .layout = two_items, .order = order},
                      {0, 3, 6, 37, 75, 76, 82, 101, 102, 134});
    }
  }
}

TEST(PlantedGradients, InPatternsWithGlobalTokens_StayWithTheTokensTheyMeet) {
  expect_confined({.pattern = "qds", .window = Window::of(8), .layout = two_items},
                  {6, 36, 40, 75, 101, 120});
  expect_confined({.pattern = "longformer", .layout = two_items}, {0, 40, 75, 102});
  expect_confined({.pattern = "full", .layout = two_items}, {0, 40, 75, 102});
}

TEST(PlantedGradients, InHeadDimensionsThatArePacked_StayWithTheTokensTheyMeet) {
  for (const std::int64_t d : {8, 20, 64}) {
    expect_confined({.layout = two_items, .head_dim = d}, {3, 37});
  }
}

}  // namespace
}  // namespace attnscope::testing
