// SPDX-License-Identifier: Apache-2.0
#include "engine/report/training_curve.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <map>
#include <system_error>
#include <utility>

#include "base/sentences.h"
#include "base/text_file.h"
#include "base/written_file.h"

namespace attnscope::report {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view header =
    "step\tloss\tlearning_rate\tgradient_norm\ttokens\tseconds\tnDCG@10\n";
constexpr std::uintmax_t most_bytes = 512U << 20U;  // millions of steps
constexpr std::size_t most_points = 200;            // per line
constexpr std::size_t most_markers = 40;            // more would hide the line

std::string line_of(const TrainedStep& step) {
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{:.3f}\t{}\n", step.step, step.loss, step.learning_rate,
                     step.gradient_norm, step.tokens, step.seconds,
                     step.ndcg ? fmt::format("{}", *step.ndcg) : "");
}

/// Parses the text before the next tab, which must be one number.
template <typename Number>
bool take(std::string_view& rest, Number& number) {
  const std::size_t length = std::min(rest.find('\t'), rest.size());
  const char* const end = rest.data() + length;
  const auto [stopped, problem] = std::from_chars(rest.data(), end, number);
  rest.remove_prefix(std::min(length + 1, rest.size()));
  return problem == std::errc() && stopped == end;
}

std::optional<TrainedStep> parse_line(std::string_view line) {
  TrainedStep step;
  if (std::ranges::count(line, '\t') != std::ranges::count(header, '\t')) return std::nullopt;
  const bool is_whole = take(line, step.step) && take(line, step.loss) &&
                        take(line, step.learning_rate) && take(line, step.gradient_norm) &&
                        take(line, step.tokens) && take(line, step.seconds);
  if (!is_whole || step.step < 1) return std::nullopt;
  if (!line.empty() && !take(line, step.ndcg.emplace())) return std::nullopt;
  return step;
}

/// Lines that end with a newline; text after the last newline is ignored.
class WholeLines {
 public:
  explicit WholeLines(std::string_view text) : rest_(text) {}
  std::optional<std::string_view> next() {
    const std::size_t end = rest_.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view line = rest_.substr(0, end + 1);
    rest_.remove_prefix(end + 1);
    return line;
  }

 private:
  std::string_view rest_;
};

std::string_view without_end(std::string_view line) {
  return line.substr(0, line.size() - 1);
}

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
      figure.series, [](const Series& one) { return one.points.size() <= most_markers; });
}

}  // namespace

Result<TrainingCurveFile> TrainingCurveFile::go_on(const fs::path& file, std::int64_t done) {
  std::string kept(header);
  std::error_code failed;
  if (done > 0 && fs::exists(file, failed)) {
    const auto text = read_text_file(file, "training's curve", most_bytes);
    if (!text) return tl::unexpected(text.error());
    WholeLines lines(*text);
    std::int64_t before = 0;
    while (const auto line = lines.next()) {
      const auto step = parse_line(without_end(*line));
      if (!step || step->step <= before || step->step > done) continue;
      before = step->step;
      kept += *line;
    }
  }
  if (Status written = write_file(file, kept); !written) return tl::unexpected(written.error());
  TrainingCurveFile curve(file);
  curve.out_.reset(std::fopen(file.c_str(), "ae"));
  if (!curve.out_) return fail("{}: cannot be written", file.string());
  return curve;
}

Status TrainingCurveFile::add(const TrainedStep& step) {
  const std::string line = line_of(step);
  std::fwrite(line.data(), 1, line.size(), out_.get());
  if (std::fflush(out_.get()) == 0 && std::ferror(out_.get()) == 0) return {};
  return fail("{}: cannot be written; make room", file_.string());
}

Status TrainingCurveFile::flush() {
  if (::fdatasync(::fileno(out_.get())) == 0) return {};
  return fail("{}: cannot be written; make room", file_.string());
}

Result<TrainingCurve> read_training_curve(const fs::path& place) {
  std::error_code failed;
  TrainingCurve curve{.file = place, .steps = {}};
  if (fs::is_directory(place, failed)) {
    curve.file /= training_curve_file;
    if (!fs::exists(curve.file, failed)) {
      return fail("{}: has no {}; name the folder that 'attnscope train' writes into",
                  in_a_sentence(place.string()), training_curve_file);
    }
  }
  const auto text = read_text_file(curve.file, "training's curve", most_bytes);
  if (!text) return tl::unexpected(text.error());
  WholeLines lines(*text);
  const std::string name = in_a_sentence(curve.file.string());
  if (lines.next() != header) {
    return fail("{}: is no training's curve: it does not begin with the line '{}'", name,
                "step loss learning_rate ...");
  }
  for (std::int64_t number = 2; const auto line = lines.next(); ++number) {
    const auto step = parse_line(without_end(*line));
    if (!step) return fail("{}, line {}: is no step of a training", name, number);
    if (!curve.steps.empty() && step->step <= curve.steps.back().step) {
      return fail("{}, line {}: step {} stands behind step {}", name, number, step->step,
                  curve.steps.back().step);
    }
    curve.steps.push_back(*step);
  }
  return curve;
}

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
