// Training steps reduce the loss, are deterministic, and continue from a saved file to the same
// weights.
#include "engine/train/trainer.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  const auto one = trainer(quick());
  const StepReport report = stepped(*one, batches_of(0));
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

TEST_F(Training, IsDeterministic) {
  const auto first = trained_for(4);
  const auto second = trained_for(4);
  expect_same_weights(*first, *second);
  EXPECT_EQ(stepped(*first, batches_of(4)).loss, stepped(*second, batches_of(4)).loss);
}

TEST_F(Training, ResumesFromAFileToTheSameWeights) {
  const auto first = trained_for(3);
  ASSERT_TRUE(first->save(folder_ / "state", {{"settings", "mine"}}));
  EXPECT_EQ(SafetensorsFile::open(folder_ / "state")->metadata("settings").value(), "mine");
  const auto second = trainer(quick());
  const Status resumed = second->resume(folder_ / "state");
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(second->steps_done(), 3);
  for (std::uint32_t step = 3; step < 5; ++step) stepped(*second, batches_of(step));
  expect_same_weights(*trained_for(5), *second);
}

TEST_F(Training, WritesKeptWeightsAlsoAfterResuming) {
  const auto one = trainer(quick());
  stepped(*one, batches_of(0));
  ASSERT_TRUE(one->write_model(folder_ / "then"));
  one->keep();
  stepped(*one, batches_of(1));
  ASSERT_TRUE(one->write_model(folder_ / "kept"));
  ASSERT_TRUE(one->save(folder_ / "state", {}));
  const auto other = trainer(quick());
  const Status resumed = other->resume(folder_ / "state");
  ASSERT_TRUE(resumed) << resumed.error().message;
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
  TrainingOptions options = quick();
  const auto one = trainer(options);
  Batch batch{group(1)};
  batch[0].margin = std::numeric_limits<double>::infinity();
  const std::vector<Batch> batches{batch};
  EXPECT_THAT(one->step(batches, 101).error().message, testing::HasSubstr("step 1: the loss"));
  expect_same_weights(*one, *trainer(options));
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
  const auto one = trainer(quick());
  ASSERT_TRUE(one->write_model(folder_ / "model.safetensors"));
  const auto file = SafetensorsFile::open(folder_ / "model.safetensors");
  EXPECT_EQ(file->metadata("format").value(), "pt");
  EXPECT_THAT(file->names(),
              testing::IsSupersetOf({"bert.embeddings.word_embeddings.weight",
                                     "bert.encoder.layer.2.attention.self.query.weight",
                                     "bert.pooler.dense.bias", "classifier.weight"}));
}

}  // namespace
}  // namespace attnscope::test
