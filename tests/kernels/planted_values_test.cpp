// SPDX-License-Identifier: Apache-2.0
//
// NaN and infinity planted in one token's key and value: rows that see the token show it, all other
// rows keep every bit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/kernels/attention_case.h"
#include "tests/kernels/confined.h"

namespace attnscope::testing {
namespace {

struct Planted {
  float key;
  float value;
};

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float inf = std::numeric_limits<float>::infinity();

void expect_confined_everywhere(const AttentionCase& problem,
                                std::initializer_list<std::int64_t> tokens) {
  const Inputs clean_inputs = random_inputs(problem);
  const AttentionPlan plan = problem.plan();
  for_each_instruction_set([&](cpu::InstructionSet set) {
    for (const Kernel kernel : {Kernel::segment, Kernel::windowed}) {
      const Outputs clean = run(kernel, plan, clean_inputs);
      for (const Planted& what :
           {Planted{nan, 0.5f}, Planted{0.5f, nan}, Planted{0.5f, inf}, Planted{nan, inf}}) {
        for (const std::int64_t token : tokens) {
          Inputs inputs = clean_inputs;
          for (std::int64_t h = 0; h < problem.heads; ++h) {
            for (std::int64_t x = 0; x < problem.head_dim; ++x) {
              inputs.k.at(token, h, x) *= what.key;
              inputs.v.at(token, h, x) = what.value;
            }
          }
          expect_confined(problem, clean, run(kernel, plan, inputs), token,
                          fmt::format("{} {} key {} value {} token {}",
                                      kernel == Kernel::segment ? "segment" : "windowed",
                                      cpu::name_of(set), what.key, what.value, token));
        }
      }
    }
  });
}

const SequenceLayout two_items = *SequenceLayout::make(
    {{.cls = 1, .query = 5, .documents = {70}}, {.cls = 1, .query = 5, .documents = {20, 33}}});

TEST(PlantedValues, InTheSparsePattern_StayWithinTheirWindows) {
  // [CLS], query, the first document's start, inside and end, the neighbours in the next item.
  for (const Order order : {Order::token_major, Order::head_major}) {
    expect_confined_everywhere({.pattern = "sparse", .layout = two_items, .order = order},
                               {0, 3, 6, 37, 75, 76, 78, 82, 101, 102, 134});
  }
}

TEST(PlantedValues, InWindowZero_ReachTheirOwnRowAlone) {
  expect_confined_everywhere({.pattern = "sparse", .window = Window::of(0), .layout = two_items},
                             {6, 37, 102});
}

TEST(PlantedValues, InSentenceStartsSkippedByBands_AreSeenOnce) {
  expect_confined_everywhere({.pattern = "qds", .window = Window::of(8), .layout = two_items},
                             {6, 36, 40, 66, 75, 101, 120});
}

TEST(PlantedValues, InLongformerAndFull_StayWithinTheirItem) {
  expect_confined_everywhere({.pattern = "longformer", .layout = two_items}, {0, 40, 75, 102});
  expect_confined_everywhere({.pattern = "full", .layout = two_items}, {0, 40, 75, 102});
}

TEST(PlantedValues, InHeadDimensionsThatArePacked_StayWithinTheirWindows) {
  for (const std::int64_t d : {8, 20, 64}) {
    expect_confined_everywhere({.pattern = "sparse", .layout = two_items, .head_dim = d}, {3, 37});
  }
}

TEST(PlantedQuery, ReachesItsOwnRowAlone) {
  const AttentionCase problem{.pattern = "sparse", .layout = two_items};
  const Inputs clean_inputs = random_inputs(problem);
  Inputs inputs = clean_inputs;
  constexpr std::int64_t planted = 37;
  for (std::int64_t h = 0; h < problem.heads; ++h) inputs.q.at(planted, h, 5) = nan;
  const AttentionPlan plan = problem.plan();
  for_each_instruction_set([&](cpu::InstructionSet) {
    for (const Kernel kernel : {Kernel::segment, Kernel::windowed}) {
      const Outputs clean = run(kernel, plan, clean_inputs);
      const Outputs dirty = run(kernel, plan, inputs);
      for (std::int64_t t = 0; t < plan.tokens; ++t) {
        ASSERT_EQ(all_finite(dirty.o, t, 1), t != planted) << "row " << t;
        if (t == planted) continue;
        for (std::int64_t x = 0; x < 32; ++x) {
          ASSERT_EQ(clean.o.at(t, 1, x), dirty.o.at(t, 1, x)) << "row " << t;
        }
      }
    }
  });
}

TEST(ExtremeScores, DoNotOverflowTheSoftmax) {
  AttentionCase problem{.pattern = "sparse", .layout = two_items};
  Inputs inputs = random_inputs(problem);
  for (std::int64_t t = 0; t < problem.layout.tokens(); ++t) {
    for (std::int64_t x = 0; x < 32; ++x) inputs.q.at(t, 0, x) *= 1e4f;
  }
  const AttentionPlan plan = problem.plan();
  for_each_instruction_set([&](cpu::InstructionSet) {
    for (const Kernel kernel : {Kernel::segment, Kernel::windowed}) {
      const Outputs out = run(kernel, plan, inputs);
      for (std::int64_t t = 0; t < plan.tokens; ++t) ASSERT_TRUE(all_finite(out.o, t, 0));
    }
  });
}

}  // namespace
}  // namespace attnscope::testing
