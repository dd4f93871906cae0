// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "engine/proof/reference.h"
#include "tests/attention/small_problem.h"

namespace attnscope {
namespace {

using tests::item;
using tests::SmallProblem;

/// Token-major float32 values of one tensor.
struct Values {
  Values(const Problem& problem, std::uint64_t seed)
      : heads(problem.plan.heads), dim(problem.head_dim) {
    std::mt19937_64 random(seed);
    // Multiples of 1/64, so that steps of 1/256 and 1/128 to both sides are exact in float32.
    std::uniform_int_distribution<int> sixty_fourths(-64, 64);
    for (std::int64_t i = 0; i < problem.plan.tokens * heads * dim; ++i) {
      numbers.push_back(static_cast<float>(sixty_fourths(random)) / 64);
    }
  }
  Tensor tensor() {
    return {.data = reinterpret_cast<std::byte*>(numbers.data()),
            .head_dim = dim,
            .token_stride = heads * dim,
            .head_stride = dim};
  }
  ConstTensor input() { return attnscope::as_const(tensor()); }

  std::int64_t heads, dim;
  std::vector<float> numbers;
};

/// A problem with random inputs and an incoming gradient in some rows only.
struct Case {
  Case(const Problem& problem_in, std::int64_t row_count)
      : problem(problem_in),
        rows(sample_rows(problem.layout, problem.plan.heads, row_count, 3)),
        q(problem, 1),
        k(problem, 2),
        v(problem, 3),
        grad_o(problem, 4) {
    const Values all = grad_o;
    std::ranges::fill(grad_o.numbers, 0.0F);
    for (const RowId& row : rows) {
      const auto first = static_cast<std::size_t>((row.token * q.heads + row.head) * q.dim);
      for (std::size_t i = first; i < first + static_cast<std::size_t>(q.dim); ++i) {
        grad_o.numbers[i] = all.numbers[i];
      }
    }
  }

  /// The function that is differentiated: the sum of grad_o * o.
  double loss() {
    const ReferenceRows reference =
        compute_reference(problem, rows, q.input(), k.input(), v.input());
    double sum = 0;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const auto first = static_cast<std::size_t>((rows[r].token * q.heads + rows[r].head) * q.dim);
      for (std::size_t i = 0; i < static_cast<std::size_t>(q.dim); ++i) {
        sum += double{grad_o.numbers[first + i]} *
               reference.output[r * static_cast<std::size_t>(q.dim) + i];
      }
    }
    return sum;
  }

  /// Central differences at two steps, extrapolated: the error is of the order of the step's fourth
  /// power.
  Values differences(Values& input) {
    Values gradient = input;
    for (std::size_t i = 0; i < input.numbers.size(); ++i) {
      const float at = input.numbers[i];
      const auto loss_at = [&](float step) {
        input.numbers[i] = at + step;
        return loss();
      };
      constexpr float step = 1.0F / 256;
      const double near = loss_at(step) - loss_at(-step);
      const double far = loss_at(2 * step) - loss_at(-2 * step);
      input.numbers[i] = at;
      gradient.numbers[i] = static_cast<float>((8 * near - far) / (12 * double{step}));
    }
    return gradient;
  }

  ReferenceGradients reference() {
    return compute_reference_gradients(problem, rows, q.input(), k.input(), v.input(),
                                       grad_o.input());
  }

  const Problem& problem;
  std::vector<RowId> rows;
  Values q, k, v, grad_o;
};

void expect_agreement_with_differences(const SmallProblem& small, std::int64_t rows = 1000) {
  Case one(small.problem, rows);
  Values grad_q = one.differences(one.q);
  Values grad_k = one.differences(one.k);
  Values grad_v = one.differences(one.v);
  const GradientErrors errors =
      gradient_errors(one.reference(), grad_q.tensor(), grad_k.tensor(), grad_v.tensor());
  EXPECT_LT(errors.q, 1e-7);
  EXPECT_LT(errors.k, 1e-7);
  EXPECT_LT(errors.v, 1e-7);
}

SequenceLayout small_layout() {
  return SequenceLayout::make({item(1, 2, 5), item(1, 0, 3), item(0, 0, 1)}).value();
}

TEST(ReferenceGradients, AreFiniteDifferencesOfTheOutput) {
  for (const char* name : {"full", "sparse", "longformer", "qds"}) {
    SCOPED_TRACE(name);
    const bool has_window = tests::pattern(name).has_window();
    expect_agreement_with_differences(
        {name, has_window ? std::optional(Window::of(1)) : std::nullopt, small_layout(), 2, 3});
  }
}

TEST(ReferenceGradients, OfSomeRowsAreFiniteDifferencesOfThoseRows) {
  expect_agreement_with_differences({"sparse", Window::of(1), small_layout(), 2, 3}, 7);
}

TEST(ReferenceGradients, OfASharedQuerySumOverAllItems) {
  const auto layout = SequenceLayout::make({item(1, 0, 3), item(1, 0, 2)}, 2).value();
  expect_agreement_with_differences({"sparse", Window::of(1), layout, 1, 3});
}

TEST(ReferenceGradients, OfWindowedMatmulHaveNoSoftmax) {
  SmallProblem small("sparse", Window::of(1), SequenceLayout::uniform(2, item(0, 0, 4)), 2, 3);
  small.problem.operation = Operation::windowed_matmul;
  small.problem.scale = 1;
  expect_agreement_with_differences(small);
}

TEST(ReferenceGradients, OfARowWithoutKeysAreZero) {
  const SmallProblem small(R"({"name":"deaf","attends":{"document":{"query":"whole"}}})",
                           std::nullopt, SequenceLayout::uniform(1, item(0, 0, 2)), 1, 2);
  Case one(small.problem, 2);
  const ReferenceGradients reference = one.reference();
  std::ranges::fill(one.q.numbers, 0.0F);
  const Tensor zero = one.q.tensor();
  EXPECT_EQ(gradient_errors(reference, zero, zero, zero).largest(), 0);
}

TEST(ReferenceGradients, OfASingleKeyAreScaledByTheCancellingTerms) {
  // The weight is 1 whatever the score: grad_q and grad_k vanish, as differences of equal numbers.
  SmallProblem small("sparse", Window::of(0), SequenceLayout::uniform(1, item(0, 0, 1)), 1, 1);
  Case one(small.problem, 1);
  one.q.numbers = {2};
  one.k.numbers = {3};
  one.v.numbers = {5};
  one.grad_o.numbers = {7};
  const ReferenceGradients reference = one.reference();
  EXPECT_EQ(reference.scale_of_grad_q, 5.0 * 7 * 3);
  EXPECT_EQ(reference.scale_of_grad_k, 5.0 * 7 * 2);
  EXPECT_EQ(reference.scale_of_grad_v, 7.0);
}

TEST(GradientErrorBound, IsEightRoundOffsAndAFloor) {
  EXPECT_DOUBLE_EQ(gradient_error_bound(DType::float32), 8 * 0x1p-24 + 2e-6);
  EXPECT_DOUBLE_EQ(gradient_error_bound(DType::float16), 8 * 0x1p-11 + 2e-6);
  EXPECT_DOUBLE_EQ(gradient_error_bound(DType::bfloat16), 8 * 0x1p-8 + 2e-6);
}

class GradientErrorsOf : public testing::Test {
 protected:
  GradientErrorsOf() : one_(small_.problem, 4), right_(one_.reference()) {
    for (Values* gradient : {&grad_q_, &grad_k_, &grad_v_}) *gradient = one_.q;
    grad_q_.numbers = expand(right_.heads[0].query_place, right_.heads[0].grad_q);
    grad_k_.numbers = expand(right_.heads[0].key_place, right_.heads[0].grad_k);
    grad_v_.numbers = expand(right_.heads[0].key_place, right_.heads[0].grad_v);
  }

  static std::vector<float> expand(const std::vector<std::int64_t>& places,
                                   const std::vector<double>& rows) {
    std::vector<float> values;
    for (const std::int64_t place : places) {
      for (std::int64_t i = 0; i < 2; ++i) {
        values.push_back(
            place < 0 ? 0.0F : static_cast<float>(rows[static_cast<std::size_t>(place * 2 + i)]));
      }
    }
    return values;
  }

  GradientErrors errors() {
    return gradient_errors(right_, grad_q_.tensor(), grad_k_.tensor(), grad_v_.tensor());
  }

  SmallProblem small_{"sparse", Window::of(1), SequenceLayout::uniform(1, item(1, 2, 20)), 1, 2};
  Case one_;
  ReferenceGradients right_;
  Values grad_q_ = one_.q, grad_k_ = one_.q, grad_v_ = one_.q;
};

TEST_F(GradientErrorsOf, AreOnlyRoundingForCorrectGradients) {
  EXPECT_LT(errors().largest(), 1e-7);
}

TEST_F(GradientErrorsOf, CountEveryRow) {
  // 4 rows of 23 are listed; any other row must be 0.
  for (std::size_t i = 0; i < grad_q_.numbers.size(); ++i) {
    grad_q_.numbers[i] += 1;
    EXPECT_GT(errors().q, 0.1) << i;
    EXPECT_EQ(errors().worst(), "grad_q");
    grad_q_.numbers[i] -= 1;
  }
}

TEST_F(GradientErrorsOf, NameTheWorstTensor) {
  grad_v_.numbers[5] += 1;
  EXPECT_EQ(errors().worst(), "grad_v");
  grad_k_.numbers[3] += 100;
  EXPECT_EQ(errors().worst(), "grad_k");
}

TEST_F(GradientErrorsOf, IsInfiniteForValuesThatAreNotFinite) {
  grad_k_.numbers[9] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(errors().k, std::numeric_limits<double>::infinity());
  EXPECT_EQ(errors().largest(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(errors().worst(), "grad_k");
}

}  // namespace
}  // namespace attnscope
