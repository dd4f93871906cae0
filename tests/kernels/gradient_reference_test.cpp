// SPDX-License-Identifier: Apache-2.0
//
// Compares the float64 gradients of the reference with finite differences.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/cases.h"

namespace attnscope::testing {
namespace {

/// The sum of grad_o * o(q, k, v); reference_gradients returns its gradients.
double loss(const KeysOf& keys, const ExactCase& problem) {
  const Values o = reference(keys, problem, softmax_of(problem.q.head_dim)).o;
  double sum = 0;
  for (std::size_t i = 0; i < o.data.size(); ++i) sum += o.data[i] * problem.grad_o.data[i];
  return sum;
}

/// The loss's derivative by `x`, by central differences of fourth order.
double difference(const KeysOf& keys, const ExactCase& problem, double& x) {
  constexpr double h = 1e-3;
  const double at = x;
  const auto moved = [&](double by) {
    x = at + by;
    const double value = loss(keys, problem);
    x = at;
    return value;
  };
  return (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h);
}

void expect_differences_near(const AttentionCase& problem) {
  const Inputs in = problem.inputs();
  const KeysOf keys = problem.keys();
  ExactCase values = exact(keys, in, random_like(in.q, 5));
  const ReferenceGradients gradients = reference_gradients(keys, values);
  const auto expect_all_near = [&](Values& operand, const Values& gradient) {
    for (std::size_t i = 0; i < operand.data.size(); ++i) {
      ASSERT_NEAR(gradient.data[i], difference(keys, values, operand.data[i]), 1e-8)
          << problem.text() << " element " << i;
    }
  };
  expect_all_near(values.q, gradients.q);
  expect_all_near(values.k, gradients.k);
  expect_all_near(values.v, gradients.v);
}

TEST(ReferenceGradients, AgreeWithFiniteDifferences) {
  const SequenceLayout layout = layout_of(
      {{.cls = 1, .query = 2, .documents = {6}}, {.cls = 1, .query = 1, .documents = {2, 3}}});
  for (const std::string pattern : {"sparse", "longformer", "full"}) {
    expect_differences_near(
        {.pattern = pattern, .window = Window::of(1), .layout = layout, .heads = 1, .head_dim = 3});
  }
}

TEST(ReferenceGradients, OfRowsWithoutKeys_AreZero) {
  const AttentionCase problem{.layout = layout_of({{.documents = {4}}}), .head_dim = 3};
  const Inputs in = problem.inputs();
  const KeysOf none = [](std::int64_t, std::int32_t) { return std::vector<std::int64_t>{}; };
  const ExactCase values = exact(none, in, in.q);
  const ReferenceGradients gradients = reference_gradients(none, values);
  for (const Values* of : {&values.o, &gradients.q, &gradients.k, &gradients.v}) {
    for (const double x : of->data) ASSERT_EQ(x, 0);
  }
}

}  // namespace
}  // namespace attnscope::testing
