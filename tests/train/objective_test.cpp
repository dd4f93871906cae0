// Losses and optimiser steps match their formulas.
#include "engine/train/objective.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/train/trainer.h"

namespace attnscope::test {
namespace {

at::Tensor scores_of(std::vector<float> values) {
  return at::tensor(values, at::kFloat).requires_grad_();
}

std::vector<float> values_of(const at::Tensor& tensor) {
  const at::Tensor dense = tensor.contiguous();
  return {dense.const_data_ptr<float>(), dense.const_data_ptr<float>() + dense.numel()};
}

TEST(Objective, MarginMseIsTheSquaredDifferenceFromTheMargin) {
  const at::Tensor scores = scores_of({3, 1, 0, 2});
  const at::Tensor loss =
      loss_of(Objective::margin_mse, scores, std::vector<ScoredGroup>{{2, 1.5}, {2, -1}});
  EXPECT_FLOAT_EQ(loss.item<float>(), 0.25F + 1);
  loss.backward();
  EXPECT_THAT(values_of(scores.grad()), testing::ElementsAre(1, -1, -2, 2));
}

TEST(Objective, RanknetIsTheLogisticLossOfTheDifference) {
  const at::Tensor scores = scores_of({3, 1, 0, 2});
  const at::Tensor loss =
      loss_of(Objective::ranknet, scores, std::vector<ScoredGroup>{{2, 0}, {2, 0}});
  EXPECT_FLOAT_EQ(loss.item<float>(),
                  static_cast<float>(std::log1p(std::exp(-2)) + std::log1p(std::exp(2))));
}

TEST(Objective, LocalizedCrossEntropyIsOverEachGroup) {
  const at::Tensor scores = scores_of({2, 1, 0, 5, 4});
  const at::Tensor loss =
      loss_of(Objective::localized_ce, scores, std::vector<ScoredGroup>{{3, 0}, {2, 0}});
  const double first = std::log(1 + std::exp(-1) + std::exp(-2));
  const double second = std::log(1 + std::exp(-1));
  EXPECT_NEAR(loss.item<double>(), first + second, 1e-6);
}

TEST(Objective, ParsesItsName) {
  for (const char* name : {"margin-mse", "ranknet", "localized-ce"})
    EXPECT_EQ(name_of(*parse_objective(name)), name);
  EXPECT_THAT(parse_objective("rank-net").error().message, testing::HasSubstr("ranknet"));
}

/// A weight, a bias and a weight without gradients.
struct Weights {
  std::vector<Parameter> all{{"weight", at::full({1, 1}, 2.0F).requires_grad_()},
                             {"bias", at::full({1}, 3.0F).requires_grad_()},
                             {"unused", at::full({1, 1}, 4.0F).requires_grad_()}};
  void set(double weight, double bias) {
    all[0].value.mutable_grad() = at::full({1, 1}, weight, at::kFloat);
    all[1].value.mutable_grad() = at::full({1}, bias, at::kFloat);
  }
  [[nodiscard]] double at(std::size_t i) const { return all[i].value.item<double>(); }
};

TEST(AdamW, FollowsTheFormulaAndDecaysOnlyWeights) {
  Weights weights;
  AdamW optimizer(weights.all, {.weight_decay = 0.1, .most_norm = 0});
  double value[] = {2, 3}, first[] = {0, 0}, second[] = {0, 0};
  const double gradients[][2] = {{0.5, -2}, {0.25, 1}, {-1, 0}};
  for (int t = 1; t <= 3; ++t) {
    weights.set(gradients[t - 1][0], gradients[t - 1][1]);
    ASSERT_TRUE(optimizer.step(0.01));
    for (std::size_t i = 0; i < 2; ++i) {
      const double g = gradients[t - 1][i];
      first[i] = 0.9 * first[i] + 0.1 * g;
      second[i] = 0.999 * second[i] + 0.001 * g * g;
      if (i == 0) value[i] -= 0.01 * 0.1 * value[i];
      value[i] -= 0.01 * first[i] / (1 - std::pow(0.9, t)) /
                  (std::sqrt(second[i] / (1 - std::pow(0.999, t))) + 1e-8);
      EXPECT_NEAR(weights.at(i), value[i], 1e-6) << t;
    }
  }
  EXPECT_EQ(weights.at(2), 4) << "it has no gradient";
  EXPECT_FALSE(weights.all[0].value.grad().defined());
}

TEST(AdamW, ClipsGradientsByTheGlobalNorm) {
  Weights weights, shortened;
  AdamW clipping(weights.all, {.most_norm = 1});
  AdamW plain(shortened.all, {.most_norm = 0});
  weights.set(3, 4);
  shortened.set(0.6, 0.8);
  EXPECT_NEAR(*clipping.step(0.01), 5, 1e-6);
  ASSERT_TRUE(plain.step(0.01));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(clipping.first()[i].item<double>(), plain.first()[i].item<double>(), 1e-7);
    EXPECT_NEAR(clipping.second()[i].item<double>(), plain.second()[i].item<double>(), 1e-8);
  }
}

TEST(AdamW, NanGradientsChangeNothing) {
  Weights weights;
  AdamW optimizer(weights.all, {});
  weights.set(std::numeric_limits<double>::quiet_NaN(), 1);
  EXPECT_THAT(optimizer.step(0.01).error().message, testing::HasSubstr("lower learning rate"));
  EXPECT_EQ(weights.at(0), 2);
  EXPECT_EQ(optimizer.steps(), 0);
}

}  // namespace
}  // namespace attnscope::test
