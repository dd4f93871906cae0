// Losses, optimiser steps, training and its continuation from a saved file.
#include "engine/train/trainer.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include "engine/safetensors/safetensors.h"
#include "tests/model/drawn_pairs.h"
#include "tests/safetensors/scratch_folder.h"

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

TEST(Objective, RanknetAndLocalizedCrossEntropyFollowTheirFormulas) {
  const auto loss = [](Objective objective, std::vector<float> scores,
                       const std::vector<ScoredGroup>& groups) {
    return loss_of(objective, scores_of(std::move(scores)), groups).item<double>();
  };
  EXPECT_NEAR(loss(Objective::ranknet, {3, 1, 0, 2}, {{2, 0}, {2, 0}}),
              std::log1p(std::exp(-2)) + std::log1p(std::exp(2)), 1e-6);
  const double first = std::log(1 + std::exp(-1) + std::exp(-2));
  const double second = std::log(1 + std::exp(-1));
  EXPECT_NEAR(loss(Objective::localized_ce, {2, 1, 0, 5, 4}, {{3, 0}, {2, 0}}), first + second,
              1e-6);
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

namespace fs = std::filesystem;
using Batch = std::vector<TrainingGroup>;

TrainingGroup group(std::uint32_t seed, std::size_t documents = 2) {
  TrainingGroup drawn{.query = drawn_ids(4, 100 + seed), .documents = {}, .margin = 1.5};
  for (std::uint32_t d = 0; d < documents; ++d)
    drawn.documents.push_back(drawn_ids(10 + 3 * d + seed % 5, 10 * seed + d));
  return drawn;
}

/// The two batches of a step, each of two groups.
std::vector<Batch> batches_of(std::uint32_t step) {
  return {{group(4 * step), group(4 * step + 1)}, {group(4 * step + 2), group(4 * step + 3)}};
}

std::unique_ptr<Trainer> trainer(const TrainingOptions& options) {
  auto made = Trainer::make(drawn_weights(), variant_of({"sparse", "segment", Window::of(4)}),
                            "segment", options);
  EXPECT_TRUE(made) << made.error().message;
  return std::move(*made);
}

TrainingOptions quick(Objective objective = Objective::margin_mse) {
  return {.objective = objective, .learning_rate = 1e-3, .warm_up = 3};
}

StepReport stepped(Trainer& trainer, const std::vector<Batch>& batches) {
  const auto report = trainer.step(batches, 101);
  EXPECT_TRUE(report) << report.error().message;
  return report.value_or(StepReport{});
}

std::unique_ptr<Trainer> trained_for(std::uint32_t steps) {
  auto made = trainer(quick());
  for (std::uint32_t step = 0; step < steps; ++step) stepped(*made, batches_of(step));
  return made;
}

std::unique_ptr<Trainer> resumed_from(const fs::path& state) {
  auto made = trainer(quick());
  const Status resumed = made->resume(state);
  EXPECT_TRUE(resumed) << resumed.error().message;
  return made;
}

void expect_same_weights(const Trainer& a, const Trainer& b) {
  const auto left = a.weights();
  const auto right = b.weights();
  for (const auto& [name, tensor] : left->tensors())
    EXPECT_TRUE(tensor.equal(right->tensor(name))) << name;
}

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Training : public testing::Test {
 protected:
  const tests::ScratchFolder folder_;
};

TEST_F(Training, ReducesTheLossOfEveryObjective) {
  for (const Objective objective :
       {Objective::margin_mse, Objective::ranknet, Objective::localized_ce}) {
    const auto one = trainer(quick(objective));
    const double before = stepped(*one, batches_of(0)).loss;
    for (int step = 0; step < 20; ++step) stepped(*one, batches_of(0));
    EXPECT_LT(stepped(*one, batches_of(0)).loss, before / 2) << name_of(objective);
  }
}

TEST_F(Training, StepReportsLossTokensAndLearningRate) {
  const StepReport report = stepped(*trainer(quick()), batches_of(0));
  EXPECT_EQ(report.step, 1);
  EXPECT_EQ(report.tokens, 8 * (1 + 4) + 4 * (10 + 13) + 2 * (0 + 1 + 2 + 3));
  EXPECT_DOUBLE_EQ(report.learning_rate, 1e-3 / 3);
  EXPECT_GT(report.gradient_norm, 0);
  EXPECT_GT(report.loss, 0);
}

TEST_F(Training, AccumulatesGradientsOverBatches) {
  const auto apart = trainer(quick());
  const auto together = trainer(quick());
  std::vector<Batch> batches = batches_of(1);
  const StepReport first = stepped(*apart, batches);
  batches[0].insert(batches[0].end(), batches[1].begin(), batches[1].end());
  batches.pop_back();
  const StepReport second = stepped(*together, batches);
  EXPECT_NEAR(first.loss, second.loss, 1e-6 * first.loss);
  EXPECT_NEAR(first.gradient_norm, second.gradient_norm, 1e-5 * first.gradient_norm);
  EXPECT_EQ(first.tokens, second.tokens);
}

TEST_F(Training, IsDeterministicAndResumesFromAFileToTheSameWeights) {
  const auto first = trained_for(3), whole = trained_for(5);
  ASSERT_TRUE(first->save(folder_ / "state", {{"settings", "mine"}}));
  EXPECT_EQ(SafetensorsFile::open(folder_ / "state")->metadata("settings").value(), "mine");
  const auto second = resumed_from(folder_ / "state");
  EXPECT_EQ(second->steps_done(), 3);
  for (std::uint32_t step = 3; step < 5; ++step) {
    const double loss = stepped(*second, batches_of(step)).loss;
    EXPECT_EQ(stepped(*first, batches_of(step)).loss, loss);
  }
  expect_same_weights(*whole, *second);
  expect_same_weights(*whole, *first);
}

TEST_F(Training, WritesKeptWeightsAlsoAfterResuming) {
  const auto one = trainer(quick());
  stepped(*one, batches_of(0));
  ASSERT_TRUE(one->write_model(folder_ / "then"));
  one->keep();
  stepped(*one, batches_of(1));
  ASSERT_TRUE(one->write_model(folder_ / "kept"));
  ASSERT_TRUE(one->save(folder_ / "state", {}));
  const auto other = resumed_from(folder_ / "state");
  expect_same_weights(*one, *other);
  ASSERT_TRUE(other->write_model(folder_ / "resumed"));
  EXPECT_EQ(bytes_of(folder_ / "kept"), bytes_of(folder_ / "then"));
  EXPECT_EQ(bytes_of(folder_ / "resumed"), bytes_of(folder_ / "then"));
  other->keep();
  ASSERT_TRUE(other->write_model(folder_ / "last"));
  EXPECT_NE(bytes_of(folder_ / "last"), bytes_of(folder_ / "then"));
}

TEST_F(Training, FilesOfOtherModelsAndDamagedFilesChangeNothing) {
  const auto one = trainer(quick());
  const auto before = trainer(quick());
  ASSERT_TRUE(one->save(folder_ / "state", {}));
  fs::resize_file(folder_ / "state", fs::file_size(folder_ / "state") / 2);
  EXPECT_FALSE(one->resume(folder_ / "state"));
  ASSERT_TRUE(one->write_model(folder_ / "model"));
  EXPECT_THAT(one->resume(folder_ / "model").error().message, testing::HasSubstr("steps"));
  expect_same_weights(*one, *before);
}

TEST_F(Training, ReportsGroupsThatDoNotFitTheObjective) {
  const auto one = trainer(quick());
  const std::vector<Batch> three{{group(1, 3)}};
  EXPECT_THAT(one->step(three, 101).error().message, testing::HasSubstr("3 documents"));
  EXPECT_THAT(one->step({}, 101).error().message, testing::HasSubstr("nothing to learn"));
  const auto other = trainer(quick(Objective::localized_ce));
  EXPECT_TRUE(other->step(three, 101));
}

TEST_F(Training, NanLossLeavesTheWeightsUnchanged) {
  const auto one = trainer(quick());
  std::vector<Batch> batches{{group(1)}};
  batches[0][0].margin = std::numeric_limits<double>::infinity();
  EXPECT_THAT(one->step(batches, 101).error().message, testing::HasSubstr("step 1: the loss"));
  expect_same_weights(*one, *trainer(quick()));
  EXPECT_EQ(one->steps_done(), 0);
}

TEST_F(Training, LearningRateWarmsUpThenStaysOrDecays) {
  const TrainingOptions constant{.learning_rate = 1, .warm_up = 4, .steps = 10};
  EXPECT_DOUBLE_EQ(learning_rate_of(1, constant), 0.25);
  EXPECT_DOUBLE_EQ(learning_rate_of(4, constant), 1);
  EXPECT_DOUBLE_EQ(learning_rate_of(10, constant), 1);
  TrainingOptions linear = constant;
  linear.schedule = Schedule::linear;
  EXPECT_DOUBLE_EQ(learning_rate_of(2, linear), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate_of(4, linear), 1);
  EXPECT_DOUBLE_EQ(learning_rate_of(10, linear), 1.0 / 7);
  linear.warm_up = 0;
  EXPECT_DOUBLE_EQ(learning_rate_of(1, linear), 1);
}

TEST_F(Training, WritesTheTensorNamesOfTransformers) {
  ASSERT_TRUE(trainer(quick())->write_model(folder_ / "model.safetensors"));
  const auto file = SafetensorsFile::open(folder_ / "model.safetensors");
  EXPECT_EQ(file->metadata("format").value(), "pt");
  EXPECT_THAT(file->names(),
              testing::IsSupersetOf({"bert.embeddings.word_embeddings.weight",
                                     "bert.encoder.layer.2.attention.self.query.weight",
                                     "bert.pooler.dense.bias", "classifier.weight"}));
}

}  // namespace
}  // namespace attnscope::test
