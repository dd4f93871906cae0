#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The curve of a training run: the file `training.tsv` in its folder, one line per step.
//
//   Result<TrainingCurveFile> file = TrainingCurveFile::resume("out/training.tsv", 500);
//   Status written = file->add({.step = 501, .loss = 0.25});
//   Result<TrainingCurve> curve = read_training_curve("out");

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace attnscope {

inline constexpr std::string_view training_curve_file = "training.tsv";

struct TrainedStep {
  std::int64_t step = 0;  // from 1
  double loss = 0;        // mean over the groups of the step
  double learning_rate = 0;
  double gradient_norm = 0;  // of all weights, before clipping
  std::int64_t tokens = 0;
  double seconds = 0;
  std::optional<double> ndcg = std::nullopt;  // nDCG@10, if the step was validated
};

/// Writes a training curve step by step. Lines of completed steps are kept.
class TrainingCurveFile {
 public:
  /// Keeps only the lines up to the step `done` of an existing file.
  [[nodiscard]] static Result<TrainingCurveFile> resume(const std::filesystem::path& file,
                                                        std::int64_t done);

  /// Appends a line, which is visible to readers of the file at once.
  [[nodiscard]] Status add(const TrainedStep& step);
  /// Waits until all lines are on disk: call it before writing the state that training resumes
  /// from.
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

/// Reads the curve of a training folder, or of the file in it. An incomplete last line, which is
/// still being written, is ignored. Errors: no such file, a file of another kind, an invalid line,
/// with its number.
[[nodiscard]] Result<TrainingCurve> read_training_curve(const std::filesystem::path& place);

}  // namespace attnscope
