// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/subject.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace attnscope::testing {
namespace {

enum class Operand { q, k, v, o, grad_o };
constexpr std::array operand_names{"q", "k", "v", "o", "grad_o"};

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

/// Values are planted in one head and must not reach others.
constexpr std::int32_t planted_head = 0;

/// The results that depend on a number of a token: a number of a key reaches all rows that see it,
/// a number of a row only that row, and the weights of a row reach all keys that it sees.
struct Touched {
  std::vector<bool> row, key;

  Touched(const std::vector<std::vector<std::int64_t>>& seen, Operand operand, std::int64_t token)
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

void expect_kept(const Packed& clean, const Packed& dirty, const std::vector<bool>& touched,
                 const std::string& what) {
  for (std::int64_t t = 0; t < clean.tokens; ++t) {
    for (std::int64_t h = 0; h < clean.heads; ++h) {
      if (h == planted_head && touched[static_cast<std::size_t>(t)]) continue;
      ASSERT_TRUE(same_row(clean, dirty, t, h)) << what << " reaches row " << t << " head " << h;
    }
  }
}

void expect_shown(const Packed& dirty, const std::vector<bool>& touched, const std::string& what) {
  for (std::int64_t t = 0; t < dirty.tokens; ++t) {
    if (!touched[static_cast<std::size_t>(t)]) continue;
    ASSERT_FALSE(is_finite(dirty, t, planted_head)) << what << " is hidden from row " << t;
  }
}

void expect_confined(const Outputs& clean, const Outputs& dirty, const Touched& touched,
                     bool must_show, const std::string& what) {
  expect_kept(clean.o, dirty.o, touched.row, what + ": o");
  const auto heads = static_cast<std::size_t>(clean.o.heads);
  for (std::size_t row = 0; row < clean.lse.size(); ++row) {
    if (row % heads == planted_head && touched.row[row / heads]) continue;
    ASSERT_EQ(clean.lse[row], dirty.lse[row]) << what << " reaches lse of row " << row;
  }
  if (must_show) expect_shown(dirty.o, touched.row, what + ": o");
}

void expect_confined(const Gradients& clean, const Gradients& dirty, const Touched& touched,
                     bool must_show, const std::string& what) {
  expect_kept(clean.q, dirty.q, touched.row, what + ": grad_q");
  expect_kept(clean.k, dirty.k, touched.key, what + ": grad_k");
  expect_kept(clean.v, dirty.v, touched.key, what + ": grad_v");
  if (must_show) expect_shown(dirty.q, touched.row, what + ": grad_q");
}

}  // namespace

void expect_right(const Subject& subject, const AttentionPlan& plan, const Inputs& inputs,
                  const KeysOf& keys, const std::string& what) {
  const Reference expected = reference(keys, inputs);
  std::optional<BackwardCase> backward;
  std::optional<ReferenceGradients> gradients;
  subject.for_each_build([&](const std::string& build) {
    const std::string where = fmt::format("{} {} {}", subject.name, build, what);
    Outputs forward = subject.forward(plan, inputs, {});
    expect_near(forward, expected, where);
    if (::testing::Test::HasFatalFailure()) return;
    if (!backward) {
      backward = {inputs, std::move(forward), random_like(inputs.q, 7)};
      gradients = reference_gradients(
          keys, subject.recomputes ? exact(*backward) : exact(keys, inputs, backward->grad_o));
    }
    const Gradients got = subject.backward(plan, *backward, {});
    expect_near(got, *gradients, where);
    expect_unseen_zero(got, keys, where);
  });
}

void expect_right(const Subject& subject, const AttentionCase& problem) {
  const AttentionPlan plan = problem.plan();
  const Status supported = subject.supports(plan, problem.head_dim);
  ASSERT_TRUE(supported) << supported.error().message << ": " << problem.text();
  expect_right(subject, plan, problem.inputs(), problem.keys(), problem.text());
}

void expect_confined(const Subject& subject, const AttentionPlan& plan, const Inputs& inputs,
                     const KeysOf& keys, const std::vector<std::int64_t>& tokens,
                     const std::string& name) {
  std::vector<std::vector<std::int64_t>> seen;
  for (std::int64_t t = 0; t < plan.tokens; ++t) seen.push_back(keys(t, planted_head));
  subject.for_each_build([&](const std::string& build) {
    const BackwardCase clean{inputs, subject.forward(plan, inputs, {}), random_like(inputs.q, 7)};
    const Gradients gradients = subject.backward(plan, clean, {});
    for (const Operand operand :
         {Operand::q, Operand::k, Operand::v, Operand::o, Operand::grad_o}) {
      const bool of_forward = operand != Operand::o && operand != Operand::grad_o;
      if (operand == Operand::o && !subject.recomputes) continue;
      for (const std::int64_t token : tokens) {
        const Touched touched(seen, operand, token);
        for (const float value : {nan, inf}) {
          if (subject.emulated && std::isinf(value) && operand != Operand::v) continue;
          BackwardCase dirty = clean;
          tensor_of(dirty, operand).at(token, planted_head, token % inputs.q.head_dim) = value;
          const std::string what =
              fmt::format("{} {} {}: {} in {} of token {}", name, subject.name, build, value,
                          operand_names.at(static_cast<std::size_t>(operand)), token);
          const bool must_show = std::isnan(value);
          if (subject.recomputes || !of_forward) {
            expect_confined(gradients, subject.backward(plan, dirty, {}), touched, must_show, what);
          }
          if (!of_forward) continue;
          dirty.forward = subject.forward(plan, dirty.in, {});
          expect_confined(clean.forward, dirty.forward, touched, must_show || operand == Operand::v,
                          what);
          if (subject.recomputes && subject.emulated) continue;
          expect_confined(gradients, subject.backward(plan, dirty, {}), touched, must_show,
                          what + ", forward too");
          if (::testing::Test::HasFailure()) return;
        }
      }
    }
  });
}

void expect_confined(const Subject& subject, const AttentionCase& problem,
                     const std::vector<std::int64_t>& tokens) {
  expect_confined(subject, problem.plan(), problem.inputs(), problem.keys(), tokens,
                  problem.text());
}

void expect_same_bits(const Subject& subject, const AttentionPlan& plan, const Inputs& inputs,
                      const std::vector<int>& several, const std::string& what) {
  subject.for_each_build([&](const std::string& build) {
    const std::string where = fmt::format("{} {} {}", subject.name, build, what);
    const BackwardCase first{inputs, subject.forward(plan, inputs, {}), random_like(inputs.q, 7)};
    const Gradients gradients = subject.backward(plan, first, {});
    EXPECT_EQ(first.forward.o.data, subject.forward(plan, inputs, {.alone = true}).o.data) << where;
    for (const int order : several) {
      const Call call{.order = order, .repeats = order == several.front() ? 2 : 1};
      EXPECT_TRUE(same_bits(first.forward, subject.forward(plan, inputs, call)))
          << where << " outputs in order " << order;
      EXPECT_TRUE(same_bits(gradients, subject.backward(plan, first, call)))
          << where << " gradients in order " << order;
    }
  });
}

}  // namespace attnscope::testing
