#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A training's curve: the file `training.tsv` in its folder, a line a step, and the figure that
// lays several of them over each other.
//
//   Result<TrainingCurveFile> file = TrainingCurveFile::go_on("out/training.tsv", 500);
//   Status written = file->add({.step = 501, .loss = 0.25});
//   Result<TrainingCurve> curve = read_training_curve("out");
//   Facets figure = training_figure({*curve});

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/report/figure.h"
#include "engine/report/sheet.h"
#include "kernels/base/result.h"

namespace attnscope::report {

inline constexpr std::string_view training_curve_file = "training.tsv";

struct TrainedStep {
  std::int64_t step = 0;  // from 1
  double loss = 0;        // mean over the step's groups
  double learning_rate = 0;
  double gradient_norm = 0;  // of all weights together, before it was made shorter
  std::int64_t tokens = 0;
  double seconds = 0;
  std::optional<double> ndcg = std::nullopt;  // nDCG@10, where it was validated
};

/// A training's curve as it grows. What is there of steps that are done already stays.
class TrainingCurveFile {
 public:
  /// Keeps the lines up to the step `done` of a file that is there, and no others.
  [[nodiscard]] static Result<TrainingCurveFile> go_on(const std::filesystem::path& file,
                                                       std::int64_t done);

  /// Whoever reads the file sees the line at once.
  [[nodiscard]] Status add(const TrainedStep& step);
  /// Waits until the disk has all lines: before the state that goes on behind them is written.
  [[nodiscard]] Status flush();

 private:
  struct Closer {
    void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
  };
  explicit TrainingCurveFile(std::filesystem::path file) : file_(std::move(file)) {}

  std::filesystem::path file_;
  std::unique_ptr<std::FILE, Closer> out_;
};

struct TrainingCurve {
  std::filesystem::path file;
  std::vector<TrainedStep> steps;  // ascending
};

/// Of a training's folder, or of the file in it. A last line without its end is still being written
/// and left out. Errors: no such file, one of another kind, a line that is none, with its number.
[[nodiscard]] Result<TrainingCurve> read_training_curve(const std::filesystem::path& place);

/// What each is called: its folder, by as much of its path as tells it from the others.
[[nodiscard]] std::vector<std::string> names_of(std::span<const TrainingCurve> curves);

/// Losses over steps and, where any was validated, nDCG@10: a panel each, with a line a training.
/// Of many steps a point is the mean loss of some, as many for all trainings; the panel's title
/// says it. The best nDCG@10 of each is marked.
[[nodiscard]] Facets training_figure(std::span<const TrainingCurve> curves);

/// How far each is and what it has reached: a row a training.
[[nodiscard]] Sheet training_sheet(std::span<const TrainingCurve> curves);

}  // namespace attnscope::report
