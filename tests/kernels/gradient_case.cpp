// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/gradient_case.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/segment.h"
#include "tests/kernels/double_rows.h"
#include "tests/kernels/guarded_workspace.h"

namespace attnscope::testing {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// The softmax of a row's scores.
std::vector<double> weights(const ExactCase& problem, std::int64_t token, std::int64_t head,
                            const std::vector<std::int64_t>& keys) {
  const std::int64_t d = problem.q.head_dim;
  std::vector<double> p;
  double m = -std::numeric_limits<double>::infinity();
  for (const std::int64_t key : keys) {
    const double s = dot(problem.q.row(token, head), problem.k.row(key, head), d);
    p.push_back(double{scale_of(d)} * s);
    m = std::max(m, p.back());
  }
  double sum = 0;
  for (double& s : p) sum += s = std::exp(s - m);
  for (double& s : p) s /= sum;
  return p;
}

void expect_near(const Packed& actual, const Values& expected, const std::string& what) {
  // As for outputs: four units of the type, and a floor for the sums in float32. A gradient that
  // vanishes (a row's only key) leaves the rounding of terms of size 1.
  const double bound = (4 * unit_roundoff(actual.dtype) + 2e-6) * std::max(1.0, expected.largest());
  for (std::int64_t t = 0; t < actual.tokens; ++t) {
    for (std::int64_t h = 0; h < actual.heads; ++h) {
      for (std::int64_t x = 0; x < actual.head_dim; ++x) {
        ASSERT_NEAR(actual.at(t, h, x), expected.row(t, h)[x], bound)
            << what << " token " << t << " head " << h << " x " << x;
      }
    }
  }
}

}  // namespace

BackwardCase backward_case(const AttentionPlan& plan, Inputs inputs, unsigned seed) {
  Outputs forward = run(Kernel::segment, plan, inputs, 1);
  Packed grad_o = random_like(inputs.q, seed);
  return {std::move(inputs), std::move(forward), std::move(grad_o)};
}

bool same_bits(const Gradients& a, const Gradients& b) {
  return a.q.data == b.q.data && a.k.data == b.k.data && a.v.data == b.v.data;
}

Gradients run_backward(const AttentionPlan& plan, const BackwardCase& problem, int threads) {
  const std::int64_t d = problem.in.q.head_dim;
  const Packed empty = like(problem.in.q, nan);
  Gradients out{empty, empty, empty};
  GuardedWorkspace workspace(cpu::segment_backward_workspace_bytes(plan, d, threads));
  const GradientTensors tensors{.q = problem.in.q.view(),
                                .k = problem.in.k.view(),
                                .v = problem.in.v.view(),
                                .o = problem.forward.o.view(),
                                .lse = problem.forward.lse,
                                .grad_o = problem.grad_o.view(),
                                .grad_q = out.q.tensor(),
                                .grad_k = out.k.tensor(),
                                .grad_v = out.v.tensor()};
  const Status done = cpu::segment_backward(plan, tensors, scale_of(d), threads, workspace.bytes());
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_TRUE(workspace.guards_are_intact());
  for (const Packed* gradient : {&out.q, &out.k, &out.v}) {
    EXPECT_TRUE(gaps_are_untouched(*gradient));
  }
  return out;
}

ExactCase exact(const BackwardCase& problem) {
  return {Values(problem.in.q), Values(problem.in.k), Values(problem.in.v),
          Values(problem.forward.o), Values(problem.grad_o)};
}

Values reference_output(const KeysOf& keys_of, const ExactCase& problem) {
  Values o(problem.q.tokens, problem.q.heads, problem.q.head_dim);
  for (std::int64_t t = 0; t < o.tokens; ++t) {
    for (std::int32_t h = 0; h < o.heads; ++h) {
      const std::vector<std::int64_t> keys = keys_of(t, h);
      const std::vector<double> p = weights(problem, t, h, keys);
      for (std::size_t i = 0; i < keys.size(); ++i) {
        add(p[i], problem.v.row(keys[i], h), o.head_dim, o.row(t, h));
      }
    }
  }
  return o;
}

ReferenceGradients reference_gradients(const KeysOf& keys_of, const ExactCase& problem) {
  const std::int64_t d = problem.q.head_dim;
  const Values zeros(problem.q.tokens, problem.q.heads, d);
  ReferenceGradients sum{zeros, zeros, zeros};
  for (std::int64_t t = 0; t < zeros.tokens; ++t) {
    for (std::int32_t h = 0; h < zeros.heads; ++h) {
      const std::vector<std::int64_t> keys = keys_of(t, h);
      const std::vector<double> p = weights(problem, t, h, keys);
      const double* grad_o = problem.grad_o.row(t, h);
      const double delta = dot(grad_o, problem.o.row(t, h), d);
      for (std::size_t i = 0; i < keys.size(); ++i) {
        const std::int64_t j = keys[i];
        const double ds =
            double{scale_of(d)} * p[i] * (dot(grad_o, problem.v.row(j, h), d) - delta);
        add(p[i], grad_o, d, sum.v.row(j, h));
        add(ds, problem.k.row(j, h), d, sum.q.row(t, h));
        add(ds, problem.q.row(t, h), d, sum.k.row(j, h));
      }
    }
  }
  return sum;
}

void expect_near(const Gradients& gradients, const ReferenceGradients& expected,
                 const std::string& what) {
  expect_near(gradients.q, expected.q, "grad_q " + what);
  expect_near(gradients.k, expected.k, "grad_k " + what);
  expect_near(gradients.v, expected.v, "grad_v " + what);
}

void expect_gradients_right(const AttentionPlan& plan, const Inputs& inputs, const KeysOf& keys,
                            const std::string& what) {
  const BackwardCase problem = backward_case(plan, inputs);
  const ReferenceGradients expected = reference_gradients(keys, exact(problem));
  for_each_instruction_set([&](cpu::InstructionSet set) {
    expect_near(run_backward(plan, problem), expected,
                fmt::format("{} {}", cpu::name_of(set), what));
  });
}

void expect_gradients_right(const AttentionCase& problem) {
  expect_gradients_right(problem.plan(), random_inputs(problem), problem.keys(), problem.text());
}

}  // namespace attnscope::testing
