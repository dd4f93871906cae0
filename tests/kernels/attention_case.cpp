// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/attention_case.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "engine/pattern/axes.h"
#include "kernels/cpu/segment.h"
#include "kernels/cpu/windowed.h"
#include "tests/kernels/guarded_workspace.h"

namespace attnscope::testing {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

std::int64_t item_tokens_of(const SequenceLayout& layout) {
  return layout.item_count() > 0 ? layout.item_tokens(0).size() : 0;
}

void fill(Packed& packed, std::mt19937& random) {
  std::normal_distribution<float> normal;
  for (std::int64_t t = 0; t < packed.tokens; ++t) {
    for (std::int64_t h = 0; h < packed.heads; ++h) {
      for (std::int64_t x = 0; x < packed.head_dim; ++x) packed.at(t, h, x) = normal(random);
    }
  }
}

}  // namespace

SequenceLayout layout_of(std::vector<LayoutItem> items, std::int64_t shared_query) {
  const auto layout = SequenceLayout::make(std::move(items), shared_query);
  EXPECT_TRUE(layout) << layout.error().message;
  return *layout;
}

std::string name_of_parameter(const ::testing::TestParamInfo<DType>& parameter) {
  return std::string(attnscope::name_of(parameter.param));
}

std::string AttentionCase::text() const {
  return fmt::format("{} w={} heads={} d={} {} {} {}", pattern, window ? window->text() : "none",
                     heads, head_dim, name_of(order), attnscope::name_of(dtype),
                     layout_json(layout));
}

AttentionPlan AttentionCase::plan() const {
  const auto found = find_pattern(pattern);
  EXPECT_TRUE(found) << found.error().message;
  const auto compiled = compile_plan(*found, window, layout, heads);
  EXPECT_TRUE(compiled) << compiled.error().message;
  return *compiled;
}

KeysOf AttentionCase::keys() const {
  return keys_from_oracle(pattern, window, layout);
}

Inputs random_inputs(std::int64_t tokens, std::int64_t heads, std::int64_t head_dim, Order order,
                     std::int64_t item_tokens, unsigned seed, DType dtype) {
  const Packed empty(tokens, heads, head_dim, order, item_tokens, 0.0f, dtype);
  Inputs inputs{empty, empty, empty};
  std::mt19937 random(seed);
  for (Packed* p : {&inputs.q, &inputs.k, &inputs.v}) fill(*p, random);
  return inputs;
}

Inputs random_inputs(const AttentionCase& problem, unsigned seed) {
  return random_inputs(problem.layout.tokens(), problem.heads, problem.head_dim, problem.order,
                       item_tokens_of(problem.layout), seed, problem.dtype);
}

Packed random_like(const Packed& shape, unsigned seed) {
  Packed packed = shape;
  std::mt19937 random(seed);
  fill(packed, random);
  return packed;
}

float scale_of(std::int64_t head_dim) {
  return 1.0f / std::sqrt(static_cast<float>(head_dim));
}

std::string name_of(Kernel kernel) {
  return kernel == Kernel::segment ? "segment" : "windowed";
}

Outputs run(Kernel kernel, const AttentionPlan& plan, const Inputs& inputs, int threads) {
  const Packed& q = inputs.q;
  Outputs out{like(q, nan), std::vector<float>(index(q.tokens * q.heads), nan)};
  GuardedWorkspace workspace(kernel == Kernel::segment
                                 ? cpu::segment_workspace_bytes(plan, q.head_dim, threads)
                                 : cpu::windowed_score_elements(plan) * 4);
  const float scale = scale_of(q.head_dim);
  const Status done =
      kernel == Kernel::segment
          ? cpu::segment_forward(plan, q.view(), inputs.k.view(), inputs.v.view(), scale,
                                 out.o.tensor(), out.lse, threads, workspace.bytes())
          : cpu::windowed_forward(plan, q.view(), inputs.k.view(), inputs.v.view(), scale,
                                  out.o.tensor(), out.lse, threads, workspace.floats());
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_TRUE(workspace.guards_are_intact()) << name_of(kernel);
  EXPECT_TRUE(gaps_are_untouched(out.o)) << name_of(kernel);
  return out;
}

void reference_row(const Inputs& inputs, std::int64_t token, std::int64_t head,
                   const std::vector<std::int64_t>& keys, double* o, double& lse) {
  const std::int64_t d = inputs.q.head_dim;
  const double scale = scale_of(d);
  std::vector<double> scores;
  double m = -std::numeric_limits<double>::infinity();
  for (const std::int64_t key : keys) {
    double s = 0;
    for (std::int64_t x = 0; x < d; ++x) {
      s += static_cast<double>(inputs.q.at(token, head, x)) * inputs.k.at(key, head, x);
    }
    scores.push_back(scale * s);
    m = std::max(m, scores.back());
  }
  std::fill(o, o + d, 0.0);
  double sum = 0;
  for (const double s : scores) sum += std::exp(s - m);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const double p = std::exp(scores[i] - m) / sum;
    for (std::int64_t x = 0; x < d; ++x) o[x] += p * inputs.v.at(keys[i], head, x);
  }
  lse = keys.empty() ? -std::numeric_limits<double>::infinity() : m + std::log(sum);
}

Reference reference(const KeysOf& keys, const Inputs& inputs) {
  const std::int64_t tokens = inputs.q.tokens, heads = inputs.q.heads, d = inputs.q.head_dim;
  Reference r;
  r.o.resize(index(tokens * heads * d));
  r.lse.resize(index(tokens * heads));
  r.largest_value = Values(inputs.v).largest();
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int32_t h = 0; h < heads; ++h) {
      const std::size_t row = index(t * heads + h);
      reference_row(inputs, t, h, keys(t, h), r.o.data() + row * index(d), r.lse[row]);
    }
  }
  return r;
}

Reference reference(const AttentionCase& problem, const Inputs& inputs) {
  return reference(problem.keys(), inputs);
}

void expect_near(const Outputs& outputs, const Reference& expected, std::int64_t head_dim,
                 const std::string& what) {
  const Packed& o = outputs.o;
  // Four units of the type at the largest value, and a floor for the sums in float32.
  const double bound = (4 * unit_roundoff(o.dtype) + 2e-6) * std::max(1.0, expected.largest_value);
  for (std::int64_t t = 0; t < o.tokens; ++t) {
    for (std::int64_t h = 0; h < o.heads; ++h) {
      const std::size_t row = index(t * o.heads + h);
      const double lse = expected.lse[row];
      if (std::isinf(lse)) {
        ASSERT_EQ(outputs.lse[row], lse) << what << " lse of token " << t << " head " << h;
      } else {
        ASSERT_NEAR(outputs.lse[row], lse, 1e-5) << what << " lse of token " << t << " head " << h;
      }
      for (std::int64_t x = 0; x < head_dim; ++x) {
        ASSERT_NEAR(o.at(t, h, x), expected.o[row * index(head_dim) + index(x)], bound)
            << what << " token " << t << " head " << h << " x " << x;
      }
    }
  }
}

void expect_right(const AttentionCase& problem) {
  const Inputs inputs = random_inputs(problem);
  const Reference expected = reference(problem, inputs);
  const AttentionPlan plan = problem.plan();
  for_each_instruction_set([&](cpu::InstructionSet set) {
    for (const Kernel kernel : {Kernel::segment, Kernel::windowed}) {
      const std::string what =
          fmt::format("{} {} {}", name_of(kernel), cpu::name_of(set), problem.text());
      expect_near(run(kernel, plan, inputs, 1), expected, problem.head_dim, what);
    }
  });
}

void expect_plan_right(const AttentionPlan& plan, std::int64_t head_dim,
                       std::initializer_list<Kernel> kernels, DType dtype) {
  for (const Order order : {Order::token_major, Order::head_major}) {
    const Inputs inputs = random_inputs(plan.tokens, plan.heads, head_dim, order, 0, 3, dtype);
    const Reference expected = reference(keys_from_plan(plan), inputs);
    for_each_instruction_set([&](cpu::InstructionSet set) {
      for (const Kernel kernel : kernels) {
        expect_near(run(kernel, plan, inputs, 1), expected, head_dim,
                    fmt::format("{} {} {} {}", name_of(kernel), cpu::name_of(set), name_of(order),
                                attnscope::name_of(dtype)));
      }
    });
  }
}

}  // namespace attnscope::testing
