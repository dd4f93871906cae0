// SPDX-License-Identifier: Apache-2.0
#include "engine/ranking/training_curve.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>

#include "base/open_file.h"
#include "base/sentences.h"
#include "base/written_file.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view header =
    "step\tloss\tlearning_rate\tgradient_norm\ttokens\tseconds\tnDCG@10\n";
constexpr std::uintmax_t most_curve_bytes = 512U << 20U;  // millions of steps

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

}  // namespace

Result<TrainingCurveFile> TrainingCurveFile::resume(const fs::path& file, std::int64_t done) {
  std::string kept(header);
  std::error_code failed;
  if (done > 0 && fs::exists(file, failed)) {
    const auto text = read_text_file(file, "training's curve", most_curve_bytes);
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
  return fail("{}: cannot be written; free disk space", file_.string());
}

Status TrainingCurveFile::flush() {
  if (::fdatasync(::fileno(out_.get())) == 0) return {};
  return fail("{}: cannot be written; free disk space", file_.string());
}

Result<TrainingCurve> read_training_curve(const fs::path& place) {
  std::error_code failed;
  TrainingCurve curve{.file = place, .steps = {}};
  if (fs::is_directory(place, failed)) {
    curve.file /= training_curve_file;
    if (!fs::exists(curve.file, failed)) {
      return fail("{}: has no {}; give the output folder of 'attnscope train'",
                  in_a_sentence(place.string()), training_curve_file);
    }
  }
  const auto text = read_text_file(curve.file, "training's curve", most_curve_bytes);
  if (!text) return tl::unexpected(text.error());
  WholeLines lines(*text);
  const std::string name = in_a_sentence(curve.file.string());
  if (lines.next() != header) {
    return fail("{}: is not a training curve: it does not begin with the line '{}'", name,
                "step loss learning_rate ...");
  }
  for (std::int64_t number = 2; const auto line = lines.next(); ++number) {
    const auto step = parse_line(without_end(*line));
    if (!step) return fail("{}, line {}: is not a training step", name, number);
    if (!curve.steps.empty() && step->step <= curve.steps.back().step) {
      return fail("{}, line {}: step {} comes after step {}", name, number, step->step,
                  curve.steps.back().step);
    }
    curve.steps.push_back(*step);
  }
  return curve;
}

}  // namespace attnscope
