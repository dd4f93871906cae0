// SPDX-License-Identifier: Apache-2.0
#include "engine/report/training_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <system_error>
#include <utility>

namespace attnscope::report {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_points = 200;  // per line
constexpr std::size_t most_markers = 40;  // more would hide the line

/// The steps per point, of 1, 2, 5, 10, 20, ...: the smallest that respects the maximum number of
/// points.
std::int64_t steps_of_a_point(std::int64_t last) {
  std::int64_t ten = 1;
  while (true) {
    for (const std::int64_t of_ten : {1, 2, 5}) {
      if (last / (of_ten * ten) <= static_cast<std::int64_t>(most_points)) return of_ten * ten;
    }
    ten *= 10;
  }
}

Point point_at(std::int64_t step, double value) {
  return {.x = static_cast<double>(step), .y = value, .low = value, .high = value};
}

/// The mean of every `stretch` steps, at its last step. An incomplete stretch is omitted, unless it
/// is the only one.
std::vector<Point> mean_losses(const std::vector<TrainedStep>& steps, std::int64_t stretch) {
  std::vector<Point> points;
  double sum = 0;
  std::int64_t counted = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    sum += steps[i].loss;
    ++counted;
    const std::int64_t number = (steps[i].step - 1) / stretch;
    const bool is_last = i + 1 == steps.size();
    const bool ends = is_last ? steps[i].step % stretch == 0 || points.empty()
                              : (steps[i + 1].step - 1) / stretch != number;
    if (!ends) continue;
    const double mean = sum / static_cast<double>(counted);
    if (std::isfinite(mean)) points.push_back(point_at(steps[i].step, mean));
    sum = 0;
    counted = 0;
  }
  return points;
}

std::vector<Point> validations(const std::vector<TrainedStep>& steps) {
  std::vector<Point> points;
  for (const TrainedStep& step : steps) {
    if (step.ndcg) points.push_back(point_at(step.step, *step.ndcg));
  }
  const auto best = std::ranges::max_element(points, {}, &Point::y);  // the first one of ties
  if (best != points.end()) best->mark = "best";
  return points;
}

Figure panel(std::string title, const char* y_label) {
  return {.title = std::move(title),
          .x_label = "Step",
          .y_label = y_label,
          .x_scale = Scale::linear,
          .y_scale = Scale::linear,
          .provenance = {}};
}

/// Rounds to a multiple of 1 / parts.
double rounded(double value, double parts) {
  return std::round(value * parts) / parts;
}

/// The cells after the name; empty without steps.
std::vector<SheetCell> cells_of(const std::vector<TrainedStep>& steps) {
  constexpr std::size_t of_loss = 100;
  constexpr double per_hour = 3600;
  std::vector<SheetCell> cells(7);
  if (steps.empty()) return cells;
  const std::size_t counted = std::min(of_loss, steps.size());
  double loss = 0, tokens = 0, seconds = 0;
  for (std::size_t i = steps.size() - counted; i < steps.size(); ++i) loss += steps[i].loss;
  const TrainedStep *last = nullptr, *best = nullptr;
  for (const TrainedStep& step : steps) {
    tokens += static_cast<double>(step.tokens);
    seconds += step.seconds;
    if (!step.ndcg) continue;
    last = &step;
    if (best == nullptr || *step.ndcg > *best->ndcg) best = &step;
  }
  constexpr double four_digits = 1e4, two_digits = 1e2;
  cells[0] = Value(steps.back().step);
  cells[1] = Value(rounded(loss / static_cast<double>(counted), four_digits));
  if (best != nullptr) {
    cells[2] = Value(rounded(*last->ndcg, four_digits));
    cells[3] = Value(rounded(*best->ndcg, four_digits));
    cells[4] = Value(best->step);
  }
  if (seconds > 0) cells[5] = Value(static_cast<std::int64_t>(std::llround(tokens / seconds)));
  cells[6] = Value(rounded(seconds / per_hour, two_digits));
  return cells;
}

void set_markers(Figure& figure) {
  figure.has_markers = std::ranges::all_of(
      figure.series, [](const Series& series) { return series.points.size() <= most_markers; });
}

}  // namespace

std::vector<std::string> names_of(std::span<const TrainingCurve> curves) {
  std::vector<std::string> names(curves.size());
  std::vector<fs::path> left;  // for each path, the part that is not in its name yet
  left.reserve(curves.size());
  for (const TrainingCurve& curve : curves) {
    std::error_code failed;
    const fs::path whole = fs::absolute(curve.file, failed).lexically_normal();
    left.push_back(whole.parent_path());
  }
  const auto lengthen = [&](std::size_t i) {
    const std::string part = left[i].filename().string();
    names[i] = names[i].empty() ? part : part + "/" + names[i];
    left[i] = left[i].parent_path();
  };
  for (std::size_t i = 0; i < names.size(); ++i) lengthen(i);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) names[i] = curves[i].file.string();
  }
  bool longer = true;
  while (std::exchange(longer, false)) {
    std::map<std::string, int> counts;
    for (const std::string& name : names) ++counts[name];
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (counts[names[i]] < 2 || !left[i].has_filename()) continue;
      lengthen(i);
      longer = true;
    }
  }
  return names;
}

Facets training_figure(std::span<const TrainingCurve> curves) {
  const std::vector<std::string> names = names_of(curves);
  std::int64_t last = 0;
  for (const TrainingCurve& curve : curves) {
    if (!curve.steps.empty()) last = std::max(last, curve.steps.back().step);
  }
  const std::int64_t stretch = steps_of_a_point(last);
  Figure losses = panel(
      stretch > 1 ? fmt::format("Loss, means of {} steps", stretch) : std::string("Loss"), "Loss");
  Figure validated = panel("Validation", "nDCG@10");
  for (std::size_t i = 0; i < curves.size(); ++i) {
    losses.series.push_back(
        {.name = names[i], .style_key = names[i], .points = mean_losses(curves[i].steps, stretch)});
    if (auto points = validations(curves[i].steps); !points.empty()) {
      validated.series.push_back(
          {.name = names[i], .style_key = names[i], .points = std::move(points)});
    }
  }
  set_markers(losses);
  set_markers(validated);
  Facets facets{.title = curves.size() == 1 ? fmt::format("Training of {}", names[0])
                                            : fmt::format("{} trainings", curves.size()),
                .panels = {},
                .columns = 0,
                .provenance = {}};
  facets.panels.push_back(std::move(losses));
  if (!validated.series.empty()) facets.panels.push_back(std::move(validated));
  return facets;
}

Sheet training_sheet(std::span<const TrainingCurve> curves) {
  Sheet sheet{.columns = {{"training", "Training", /*is_number=*/false},
                          {"steps", "Steps"},
                          {"loss", "Loss, last 100 steps"},
                          {"ndcg10", "nDCG@10"},
                          {"best_ndcg10", "Best nDCG@10"},
                          {"best_step", "at step"},
                          {"tokens_per_second", "Tokens a second"},
                          {"hours", "Hours"}}};
  const std::vector<std::string> names = names_of(curves);
  for (std::size_t i = 0; i < curves.size(); ++i) {
    std::vector<SheetCell> row{names[i]};
    for (SheetCell& cell : cells_of(curves[i].steps)) row.push_back(std::move(cell));
    sheet.add(std::move(row));
  }
  return sheet;
}

}  // namespace attnscope::report
