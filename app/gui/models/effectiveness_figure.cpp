// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/effectiveness_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/gui/session/text.h"

namespace attnscope::gui {
namespace {

using report::Advised;

constexpr double ms_per_second = 1e3;
constexpr double least_span = 0.04;  // of nDCG@10: a difference of 0.01 is seen, and seen as small

bool is_shown(const Advised& one) {
  return one.published && one.time_ns;
}

std::string remark_on(const Advised& one) {
  if (one.is_interpolated) return "≈ interpolated";
  return one.counted_as ? "≈ shorter than measured" : "";
}

}  // namespace

report::Figure effectiveness_figure(const report::Answer& advice) {
  const auto first = std::ranges::find_if(advice.contenders, is_shown);
  report::Figure figure;
  if (first == advice.contenders.end()) return figure;
  double longest_ms = 0;
  for (const Advised& one : advice.contenders) {
    if (is_shown(one)) longest_ms = std::max(longest_ms, one.time_ns->value / 1e6);
  }
  const bool in_seconds = longest_ms >= 10 * ms_per_second;
  const std::int64_t count = advice.question->candidates;
  figure.x_label =
      fmt::format("{} for {} document{}", in_seconds ? "s" : "ms", count, count == 1 ? "" : "s");
  figure.y_label =
      fmt::format("nDCG@10 over {} ({})", first->published->task, report::published_label);
  figure.x_scale = report::Scale::log10;
  figure.y_scale = report::Scale::linear;
  figure.along_x = false;
  figure.provenance = report::provenance_line(advice.run);
  for (const Advised& one : advice.contenders) {
    if (!is_shown(one)) continue;
    const double unit = in_seconds ? ms_per_second : 1;
    const double ndcg = one.published->ndcg10;
    report::Series& series = figure.series.emplace_back();
    series.name = one.name;
    series.style_key = one.contender;
    series.points.push_back({.x = one.time_ns->value / 1e6 / unit,
                             .y = ndcg,
                             .low = ndcg,
                             .high = ndcg,
                             .label = remark_on(one)});
  }
  return figure;
}

std::optional<charts::AxisRange> effectiveness_range(const report::Figure& figure) {
  if (figure.series.empty()) return std::nullopt;
  double low = 1, high = 0;
  for (const report::Series& series : figure.series) {
    low = std::min(low, series.points.front().y);
    high = std::max(high, series.points.front().y);
  }
  const double middle = (low + high) / 2;
  const double span = std::max(least_span, 1.4 * (high - low));
  return charts::AxisRange{std::max(0.0, middle - span / 2), middle + span / 2};
}

QStringList without_published(const report::Answer& advice) {
  QStringList names;
  for (const Advised& one : advice.contenders) {
    if (!one.published) names.append(words(one.name));
  }
  return names;
}

}  // namespace attnscope::gui
