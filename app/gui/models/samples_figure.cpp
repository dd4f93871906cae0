// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/samples_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <vector>

#include "engine/report/conditions.h"
#include "engine/report/number_text.h"
#include "kernels/base/sentences.h"

namespace attnscope::gui {
namespace {

// More dots than this say nothing more, and painting them would be felt.
constexpr std::size_t most_dots = 3000;
constexpr double ms_per_ns = 1e-6;

/// "placement 2, round 5, outlier, 2400 MHz".
std::string label_of(const Sample& sample, bool is_outlier) {
  std::string text = fmt::format("placement {}, round {}", sample.placement + 1, sample.round + 1);
  if (is_outlier) text += ", outlier";
  if (sample.throttled) text += ", throttled";
  if (sample.clock_mhz) text += fmt::format(", {:.0f} MHz", *sample.clock_mhz);
  if (sample.temperature_c) text += fmt::format(", {:.0f} °C", *sample.temperature_c);
  if (sample.involuntary_switches > 0) {
    text += fmt::format(
        ", taken off a core {}",
        attnscope::counted(static_cast<std::size_t>(sample.involuntary_switches), "time"));
  }
  return text;
}

report::Ceiling line_of(const char* what, double ns) {
  return {.text = fmt::format("{} {}", what, report::format_time(ns)), .rate = ns * ms_per_ns};
}

}  // namespace

report::Figure samples_figure(const report::Row* row) {
  report::Figure figure{.title = {},
                        .x_label = "Samples, in the order of placements and rounds",
                        .y_label = "Time of a call (ms)",
                        .x_scale = report::Scale::linear,
                        .y_scale = report::Scale::linear,
                        .series = {},
                        .provenance = {}};
  figure.is_joined = false;
  if (row == nullptr || !report::is_measured(*row)) return figure;
  const std::vector<Sample>& samples = row->cell.cell.samples;
  std::vector<bool> outliers = row->cell.outliers;
  outliers.resize(samples.size());
  std::vector<std::size_t> order(samples.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, {}, [&](std::size_t i) { return std::tuple(samples[i].placement, samples[i].round); });
  // No title: in a low panel it would take the height of the plot.
  figure.y_label = row->cell.cell.contender.name + ": time of a call (ms)";
  report::Series usual{.name = "samples", .style_key = "samples", .points = {}, .rail = {}};
  report::Series odd{.name = "outliers", .style_key = "outliers", .points = {}, .rail = {}};
  const std::size_t step = (samples.size() + most_dots - 1) / most_dots;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const Sample& sample = samples[order[place]];
    const bool is_outlier = outliers[order[place]];
    const double x = static_cast<double>(place) + 1, y = sample.time_ns * ms_per_ns;
    if (place == 0 || sample.placement != samples[order[place - 1]].placement) {
      figure.marks.push_back({.x = x,
                              .text = fmt::format("placement {}", sample.placement + 1),
                              .style_key = "samples"});
    }
    if ((place % step != 0 && !is_outlier) || !std::isfinite(y)) continue;
    (is_outlier ? odd : usual)
        .points.push_back(
            {.x = x, .y = y, .low = y, .high = y, .label = label_of(sample, is_outlier)});
  }
  figure.series.push_back(std::move(usual));
  if (!odd.points.empty()) figure.series.push_back(std::move(odd));
  const statistics::Summary& summary = row->cell.summary;
  figure.ceilings = {line_of("median", summary.median_ns), line_of("95% from", summary.low_ns),
                     line_of("to", summary.high_ns)};
  return figure;
}

std::optional<charts::AxisRange> samples_range(const report::Figure& figure) {
  std::vector<double> values;
  for (const report::Series& series : figure.series) {
    for (const report::Point& point : series.points) values.push_back(point.y);
  }
  if (values.empty()) return std::nullopt;
  for (const report::Ceiling& line : figure.ceilings) {
    if (std::isfinite(line.rate)) values.push_back(line.rate);
  }
  const auto [low, high] = std::ranges::minmax(values);
  const double margin = std::max(0.05 * (high - low), 1e-3 * high);
  return charts::AxisRange{std::max(0.0, low - margin), high + margin};
}

}  // namespace attnscope::gui
