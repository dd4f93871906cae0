// SPDX-License-Identifier: Apache-2.0
//
// The file of a training curve that grows, is truncated and is read while it grows; and the figure
// of several curves.
#include "engine/report/training_curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace attnscope::report {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CurveOfATraining : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] fs::path file() const { return folder_ / training_curve_file; }
  [[nodiscard]] std::string text() const {
    std::ifstream in(file());
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void append(const std::string& more) const { std::ofstream(file(), std::ios::app) << more; }
  /// Steps first to last, as added by a training that continues after step `first - 1`.
  void add_steps(std::int64_t first, std::int64_t last) const {
    auto curve = TrainingCurveFile::resume(file(), first - 1);
    ASSERT_TRUE(curve) << curve.error().message;
    for (std::int64_t step = first; step <= last; ++step) {
      ASSERT_TRUE(curve->add({.step = step, .loss = 1.0 / static_cast<double>(step), .tokens = 8}));
    }
    ASSERT_TRUE(curve->flush());
  }
  [[nodiscard]] std::vector<std::int64_t> steps() const {
    std::vector<std::int64_t> numbers;
    const auto curve = read_training_curve(folder_);
    EXPECT_TRUE(curve) << curve.error().message;
    if (!curve) return numbers;
    for (const TrainedStep& step : curve->steps) numbers.push_back(step.step);
    return numbers;
  }
  [[nodiscard]] std::string complaint() const {
    const auto curve = read_training_curve(folder_);
    return curve ? "" : curve.error().message;
  }

  fs::path folder_;
};

TEST_F(CurveOfATraining, IsReadBackByItsFolderOrItsFile) {
  {
    auto curve = TrainingCurveFile::resume(file(), 0);
    ASSERT_TRUE(curve);
    ASSERT_TRUE(curve->add({.step = 1, .loss = 0.1, .learning_rate = 7e-6, .seconds = 0.5}));
    ASSERT_TRUE(curve->add({.step = 2, .loss = 1.0 / 3, .tokens = 99, .ndcg = 2.0 / 3}));
    EXPECT_THAT(steps(), ElementsAre(1, 2)) << "while it is open, too";
  }
  const auto curve = read_training_curve(file());
  ASSERT_TRUE(curve) << curve.error().message;
  ASSERT_THAT(curve->steps, SizeIs(2));
  EXPECT_EQ(curve->steps[0].learning_rate, 7e-6);
  EXPECT_EQ(curve->steps[0].seconds, 0.5);
  EXPECT_EQ(curve->steps[0].ndcg, std::nullopt);
  EXPECT_EQ(curve->steps[1].loss, 1.0 / 3);
  EXPECT_EQ(curve->steps[1].tokens, 99);
  EXPECT_EQ(curve->steps[1].ndcg, 2.0 / 3);
}

TEST_F(CurveOfATraining, ContinuesWithTheLinesOfAnUninterruptedOne) {
  add_steps(1, 9);
  const std::string whole = text();
  add_steps(5, 9);
  EXPECT_EQ(text(), whole);
  append("10\t0.1\t0\t0\t8\t0.0");  // killed within a line
  add_steps(6, 9);
  EXPECT_EQ(text(), whole);
  add_steps(1, 2);
  EXPECT_THAT(steps(), ElementsAre(1, 2));
}

TEST_F(CurveOfATraining, DropsGarbageAndIgnoresAnUnfinishedLine) {
  add_steps(1, 4);
  append(std::string(40, '\0') + "\n3\t0.5\t0\t0\t8\t0.000\t\n");
  add_steps(7, 7);
  EXPECT_THAT(steps(), ElementsAre(1, 2, 3, 4, 7));
  append("8\t0.5\t0");
  EXPECT_THAT(steps(), ElementsAre(1, 2, 3, 4, 7));
  append("\t0\t8\t0.1\t\n");
  EXPECT_THAT(steps(), ElementsAre(1, 2, 3, 4, 7, 8));
}

TEST_F(CurveOfATraining, ErrorsNameTheLine) {
  EXPECT_THAT(complaint(), AllOf(HasSubstr("has no training.tsv"), HasSubstr("attnscope train")));
  append("a\tb\n");
  EXPECT_THAT(complaint(), HasSubstr("is not a training curve"));
  fs::remove(file());
  add_steps(1, 2);
  append("three\t0.5\t0\t0\t8\t0.1\t\n");
  EXPECT_THAT(complaint(),
              AllOf(HasSubstr("training.tsv, line 4"), HasSubstr("is not a training step")));
  add_steps(3, 3);
  append("3\t0.5\t0\t0\t8\t0.1\t\n");
  EXPECT_THAT(complaint(), EndsWith("line 5: step 3 comes after step 3"));
  for (const char* line : {"4\t0.5\t0\t0\t8\t0.1\n", "4\t0.5\t0\t0\t8\t0.1\t0.5\t1\n",
                           "4\t0.5x\t0\t0\t8\t0.1\t\n", "0\t0.5\t0\t0\t8\t0.1\t\n", "\n"}) {
    add_steps(3, 3);
    append(line);
    EXPECT_THAT(complaint(), HasSubstr("line 5: is not a training step")) << line;
  }
  EXPECT_THAT(read_training_curve(folder_ / "none").error().message, HasSubstr("none"));
}

TrainingCurve curve_of(const char* file, std::int64_t steps, double loss) {
  TrainingCurve curve{.file = file, .steps = {}};
  for (std::int64_t step = 1; step <= steps; ++step)
    curve.steps.push_back({.step = step, .loss = loss + static_cast<double>(step % 2)});
  return curve;
}

TEST(FigureOfTrainings, HasAPointPerStepIfStepsAreFew) {
  const std::vector<TrainingCurve> none{curve_of("/a/new/training.tsv", 0, 1)};
  EXPECT_THAT(training_figure(none).panels.at(0).series.at(0).points, IsEmpty());
  const std::vector<TrainingCurve> one{curve_of("/a/sparse/training.tsv", 6, 1)};
  const Facets figure = training_figure(one);
  EXPECT_EQ(figure.title, "Training of sparse");
  ASSERT_THAT(figure.panels, SizeIs(1));
  EXPECT_EQ(figure.panels[0].title, "Loss");
  EXPECT_TRUE(figure.panels[0].has_markers);
  ASSERT_THAT(figure.panels[0].series, SizeIs(1));
  ASSERT_THAT(figure.panels[0].series[0].points, SizeIs(6));
  EXPECT_EQ(figure.panels[0].series[0].points[4].x, 5);
  EXPECT_EQ(figure.panels[0].series[0].points[4].y, 2);
}

TEST(FigureOfTrainings, UsesTheSameMeansForAllIfOneIsLong) {
  const std::vector<TrainingCurve> two{curve_of("/a/full/training.tsv", 1037, 1),
                                       curve_of("/a/sparse/training.tsv", 7, 3)};
  const Facets figure = training_figure(two);
  EXPECT_EQ(figure.title, "2 trainings");
  const Figure& losses = figure.panels[0];
  EXPECT_EQ(losses.title, "Loss, means of 10 steps");
  EXPECT_FALSE(losses.has_markers);
  ASSERT_THAT(losses.series[0].points, SizeIs(103)) << "the last seven steps are no whole mean yet";
  EXPECT_EQ(losses.series[0].points[0].x, 10);
  EXPECT_EQ(losses.series[0].points[0].y, 1.5);
  ASSERT_THAT(losses.series[1].points, SizeIs(1)) << "a curve without lines has no point";
  EXPECT_EQ(losses.series[1].points[0].x, 7);
}

TEST(FigureOfTrainings, MarksTheFirstBestValidationOfEach) {
  std::vector<TrainingCurve> two{curve_of("/a/full/training.tsv", 8, 1),
                                 curve_of("/a/sparse/training.tsv", 8, 1)};
  two[1].steps[1].ndcg = 0.25;
  two[1].steps[3].ndcg = 0.5;
  two[1].steps[5].ndcg = 0.5;
  two[1].steps[7].ndcg = 0.375;
  const Facets figure = training_figure(two);
  ASSERT_THAT(figure.panels, SizeIs(2));
  const Figure& validated = figure.panels[1];
  EXPECT_EQ(validated.y_label, "nDCG@10");
  ASSERT_THAT(validated.series, SizeIs(1));
  EXPECT_EQ(validated.series[0].style_key, figure.panels[0].series[1].style_key);
  std::vector<std::string> marks;
  for (const Point& point : validated.series[0].points) marks.push_back(point.mark);
  EXPECT_THAT(marks, ElementsAre("", "best", "", ""));
  EXPECT_THAT(facets_csv(figure), HasSubstr("nDCG@10,sparse,4,0.5"));
}

TEST(SheetOfTrainings, HasProgressAndResultsOfEach) {
  std::vector<TrainingCurve> curves{curve_of("/a/full/training.tsv", 200, 1),
                                    curve_of("/a/new/training.tsv", 0, 0)};
  for (TrainedStep& step : curves[0].steps) {
    step.tokens = 4096;
    step.seconds = 0.5;
  }
  curves[0].steps[99].ndcg = 0.43211;
  curves[0].steps[199].ndcg = 0.4;
  const std::string csv = write_sheet(training_sheet(curves), TableFormat::csv);
  EXPECT_THAT(csv, HasSubstr("\nfull,200,1.5,0.4,0.4321,100,8192,0.03\r\nnew,,,,,,,\r\n"));
}

TEST(NamesOfTrainings, AreFoldersWithAUniquePartOfTheirPath) {
  const std::vector<TrainingCurve> curves{
      curve_of("/x/full/out/training.tsv", 0, 0), curve_of("/x/sparse/out/training.tsv", 0, 0),
      curve_of("/x/y/../other/training.tsv", 0, 0), curve_of("/training.tsv", 0, 0)};
  EXPECT_THAT(names_of(curves), ElementsAre("full/out", "sparse/out", "other", "/training.tsv"));
  const std::vector<TrainingCurve> same{curve_of("/x/out/training.tsv", 0, 0),
                                        curve_of("/x/out/training.tsv", 0, 0)};
  EXPECT_THAT(names_of(same), ElementsAre("x/out", "x/out"));
}

}  // namespace
}  // namespace attnscope::report
