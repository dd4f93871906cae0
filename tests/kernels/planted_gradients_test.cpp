// SPDX-License-Identifier: Apache-2.0
//
// NaN and infinity planted in one number of an operand of segment_backward: gradients that depend
// on the number show them, all others keep every bit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tests/kernels/gradient_case.h"
#include "tests/kernels/hand_made_plans.h"
#include "tests/kernels/random_plan.h"

namespace attnscope::testing {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float inf = std::numeric_limits<float>::infinity();

enum class Operand { q, k, v, o, grad_o };
constexpr std::array operands{Operand::q, Operand::k, Operand::v, Operand::o, Operand::grad_o};

std::string name_of(Operand operand) {
  constexpr std::array names{"q", "k", "v", "o", "grad_o"};
  return names[static_cast<std::size_t>(operand)];
}

Packed& tensor_of(BackwardCase& problem, Operand operand) {
  switch (operand) {
    case Operand::q:
      return problem.in.q;
    case Operand::k:
      return problem.in.k;
    case Operand::v:
      return problem.in.v;
    case Operand::o:
      return problem.forward.o;
    case Operand::grad_o:
      break;
  }
  return problem.grad_o;
}

/// The keys of every row of the head in which values are planted.
using Seen = std::vector<std::vector<std::int64_t>>;
constexpr std::int32_t planted_head = 0;

/// What depends on a token's number: a key's belongs to all rows that see it, a row's to itself;
/// and a row's weights go to all keys that it sees.
struct Touched {
  std::vector<bool> row, key;

  Touched(const Seen& seen, Operand operand, std::int64_t token)
      : row(seen.size()), key(seen.size()) {
    const bool of_key = operand == Operand::k || operand == Operand::v;
    for (std::size_t i = 0; i < seen.size(); ++i) {
      row[i] = of_key ? std::ranges::binary_search(seen[i], token)
                      : static_cast<std::int64_t>(i) == token && !seen[i].empty();
      if (!row[i]) continue;
      for (const std::int64_t j : seen[i]) key[static_cast<std::size_t>(j)] = true;
    }
  }
};

bool is_finite(const Packed& packed, std::int64_t token, std::int64_t head) {
  for (std::int64_t x = 0; x < packed.head_dim; ++x) {
    if (!std::isfinite(packed.at(token, head, x))) return false;
  }
  return true;
}

void expect_confined(const Gradients& clean, const Gradients& dirty, const Touched& touched,
                     bool must_show, const std::string& what) {
  const std::int64_t d = clean.q.head_dim;
  for (std::int64_t t = 0; t < clean.q.tokens; ++t) {
    const auto token = static_cast<std::size_t>(t);
    for (std::int64_t h = 0; h < clean.q.heads; ++h) {
      const bool planted = h == planted_head;
      if (planted && touched.row[token] && must_show) {
        ASSERT_FALSE(is_finite(dirty.q, t, h)) << what << " is hidden from grad_q of " << t;
      }
      for (std::int64_t x = 0; x < d; ++x) {
        if (!planted || !touched.row[token]) {
          ASSERT_EQ(clean.q.at(t, h, x), dirty.q.at(t, h, x)) << what << " grad_q of token " << t;
        }
        if (!planted || !touched.key[token]) {
          ASSERT_EQ(clean.k.at(t, h, x), dirty.k.at(t, h, x)) << what << " grad_k of token " << t;
          ASSERT_EQ(clean.v.at(t, h, x), dirty.v.at(t, h, x)) << what << " grad_v of token " << t;
        }
      }
    }
  }
}

/// Plants in `tokens` one after another: in the backward pass's operand alone, and, for what a
/// forward pass reads, before that.
void expect_confined_everywhere(const AttentionPlan& plan, const Inputs& inputs, const KeysOf& keys,
                                const std::vector<std::int64_t>& tokens, const std::string& name) {
  Seen seen;
  for (std::int64_t t = 0; t < plan.tokens; ++t) seen.push_back(keys(t, planted_head));
  for_each_instruction_set([&](cpu::InstructionSet set) {
    const BackwardCase clean_problem = backward_case(plan, inputs);
    const Gradients clean = run_backward(plan, clean_problem);
    for (const Operand operand : operands) {
      for (const std::int64_t token : tokens) {
        const Touched touched(seen, operand, token);
        for (const float value : {nan, inf}) {
          BackwardCase problem = clean_problem;
          tensor_of(problem, operand).at(token, planted_head, token % inputs.q.head_dim) = value;
          const std::string what = fmt::format("{} {} {} in {} of token {}", name,
                                               cpu::name_of(set), value, name_of(operand), token);
          expect_confined(clean, run_backward(plan, problem), touched, std::isnan(value), what);
          if (operand == Operand::o || operand == Operand::grad_o) continue;
          problem.forward = run(Kernel::segment, plan, problem.in, 1);
          expect_confined(clean, run_backward(plan, problem), touched, std::isnan(value),
                          what + ", forward too");
        }
      }
    }
  });
}

void expect_confined_everywhere(const AttentionCase& problem,
                                const std::vector<std::int64_t>& tokens) {
  expect_confined_everywhere(problem.plan(), random_inputs(problem), problem.keys(), tokens,
                             problem.text());
}

const SequenceLayout two_items = *SequenceLayout::make(
    {{.cls = 1, .query = 5, .documents = {70}}, {.cls = 1, .query = 5, .documents = {20, 33}}});

TEST(PlantedGradients, InTheSparsePattern_StayWithinTheirWindows) {
  // [CLS], query, the first document's start, inside and end, the neighbours in the next item.
  for (const Order order : {Order::token_major, Order::head_major}) {
    expect_confined_everywhere({.layout = two_items, .order = order},
                               {0, 3, 6, 37, 75, 76, 78, 82, 101, 102, 134});
  }
}

TEST(PlantedGradients, InWindowZero_TouchTheLeast) {
  expect_confined_everywhere({.window = Window::of(0), .layout = two_items}, {0, 6, 37, 102});
}

TEST(PlantedGradients, InALongDocument_CrossNoBorderOfChunks) {
  const SequenceLayout layout = *SequenceLayout::make({{.cls = 1, .query = 3, .documents = {700}}});
  expect_confined_everywhere({.layout = layout, .heads = 1, .head_dim = 8},
                             {0, 2, 4, 127, 128, 131, 255, 256, 260, 383, 511, 512, 640, 703});
}

TEST(PlantedGradients, OfSentenceStarts_StayWhereTheyAreSeen) {
  expect_confined_everywhere({.pattern = "qds", .window = Window::of(8), .layout = two_items},
                             {6, 36, 40, 66, 75, 101, 120});
}

TEST(PlantedGradients, InLongformerAndFull_StayWithinTheirItem) {
  expect_confined_everywhere({.pattern = "longformer", .layout = two_items}, {0, 40, 75, 102});
  expect_confined_everywhere({.pattern = "full", .layout = two_items}, {0, 40, 75, 102});
}

TEST(PlantedGradients, InASharedQuery_StayWithinThePattern) {
  const SequenceLayout layout = *SequenceLayout::make(
      {{.cls = 1, .documents = {20}}, {.cls = 1, .documents = {3}}, {.cls = 1, .documents = {40}}},
      7);
  expect_confined_everywhere({.layout = layout}, {0, 6, 7, 8, 17, 28, 29, 31, 32, 33, 60});
}

TEST(PlantedGradients, In16BitNumbersAndOddHeadDimensions_StayWithinTheirWindows) {
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
    for (const std::int64_t d : {8, 20, 33}) {
      expect_confined_everywhere({.layout = two_items, .head_dim = d, .dtype = dtype}, {3, 37});
    }
  }
}

TEST(PlantedGradients, OnHandMadePlans_StayWithinTheirIntervals) {
  for (const auto& [name, plan, fused_only] : hand_made_plans()) {
    const std::int64_t n = plan.tokens;
    expect_confined_everywhere(plan, random_inputs(n, plan.heads, 8, Order::head_major, 0, 3),
                               keys_from_plan(plan), {0, 5, n / 3, n - 1}, name);
  }
}

TEST(PlantedGradients, OnRandomPlans_StayWithinTheirIntervals) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    const AttentionPlan plan = random_plan(seed);
    const std::int64_t n = plan.tokens;
    expect_confined_everywhere(plan, random_inputs(n, plan.heads, 8, Order::head_major, 0, seed),
                               keys_from_plan(plan), {0, n / 2, n - 1},
                               fmt::format("seed {}\n{}", seed, text_of(plan)));
  }
}

}  // namespace
}  // namespace attnscope::testing
