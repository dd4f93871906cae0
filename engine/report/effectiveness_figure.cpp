// SPDX-License-Identifier: Apache-2.0
#include "engine/report/effectiveness_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace attnscope::report {
namespace {

struct Placed {
  const TimedEffectiveness* of = nullptr;
  double x = 0, y = 0;
  bool is_measured = false;
  [[nodiscard]] bool is_equivalent() const {
    return is_measured ? of->measured->is_equivalent() : of->published->is_equivalent;
  }
};

/// Contenders with a time and a value; measured values come first.
std::vector<Placed> placed(const std::vector<TimedEffectiveness>& contenders, double unit_ns) {
  std::vector<Placed> all;
  for (const TimedEffectiveness& timed : contenders) {
    if (!timed.measured && !timed.published) continue;
    all.push_back({.of = &timed,
                   .x = timed.time_ns / unit_ns,
                   .y = timed.measured ? timed.measured->mean : timed.published->ndcg10,
                   .is_measured = timed.measured.has_value()});
  }
  return all;
}

/// The Pareto front, ascending in both values.
std::vector<Point> front_of(std::vector<Placed> all, bool of_measured) {
  std::erase_if(all, [&](const Placed& one) { return one.is_measured != of_measured; });
  std::ranges::sort(
      all, [](const Placed& a, const Placed& b) { return a.x != b.x ? a.x < b.x : a.y > b.y; });
  std::vector<Point> front;
  for (const Placed& placement : all) {
    if (front.empty() || placement.y > front.back().y) {
      front.push_back(
          {.x = placement.x, .y = placement.y, .low = placement.y, .high = placement.y});
    }
  }
  return front;
}

std::string label_of(const Placed& one, const std::vector<Point>& front) {
  std::string text = one.of->remark;
  const auto add = [&](std::string_view words) {
    text.append(text.empty() ? "" : ", ").append(words);
  };
  add(one.is_measured ? measured_label : published_label);
  if (one.is_measured && one.of->measured->tests) {
    const MeasuredEffectiveness& own = *one.of->measured;
    add(fmt::format("{}equivalent within {}: {}", own.is_equivalent() ? "" : "not shown ",
                    own.margin, test_in_words(*own.tests)));
  } else if (one.is_equivalent()) {
    add(one.is_measured ? "the baseline" : "equivalent, as the paper tested");
  }
  const auto is_here = [&](const Point& point) { return point.x == one.x && point.y == one.y; };
  if (std::ranges::any_of(front, is_here)) add("on the Pareto front");
  return text;
}

/// The legend, as sentences.
std::string legend_of(const std::vector<Placed>& all, bool has_front) {
  std::string text;
  const auto add = [&](const std::string& sentence) {
    text.append(text.empty() ? "" : " ").append(sentence);
  };
  const auto measured = std::ranges::find(all, true, &Placed::is_measured);
  const auto published = std::ranges::find(all, false, &Placed::is_measured);
  if (measured != all.end()) {
    const MeasuredEffectiveness& own = *measured->of->measured;
    add(fmt::format("{} measured here, by {}.", own.measure, own.qrels));
    if (!own.baseline.empty()) {
      add(fmt::format("† equivalent to {} within {} (paired TOST, p < {}).", own.baseline,
                      own.margin, own.alpha));
    }
    if (published != all.end()) {
      add(fmt::format("publ.: {}, on another collection ({}).", published_label,
                      published->of->published->source));
    }
  } else if (published != all.end()) {
    add(fmt::format("nDCG@10 {} ({}). † as the paper tested.", published_label,
                    published->of->published->source));
  }
  if (has_front) add("Line: Pareto front.");
  return text;
}

}  // namespace

Figure effectiveness_figure(const std::vector<TimedEffectiveness>& contenders,
                            std::string_view of) {
  constexpr double ms = 1e6, second = 1e9, seconds_from = 1e4 * ms;
  double longest = 0;
  for (const Placed& placement : placed(contenders, 1)) longest = std::max(longest, placement.x);
  const bool in_seconds = longest >= seconds_from;
  const std::vector<Placed> all = placed(contenders, in_seconds ? second : ms);
  Figure figure;
  figure.x_label = fmt::format("{} {}", in_seconds ? "s" : "ms", of);
  figure.x_scale = Scale::log10;
  figure.y_scale = Scale::linear;
  figure.along_x = false;
  if (all.empty()) return figure;
  const auto measured = std::ranges::find(all, true, &Placed::is_measured);
  const bool any_measured = measured != all.end();
  const bool any_published =
      std::ranges::any_of(all, [](const Placed& p) { return !p.is_measured; });
  figure.y_label =
      any_measured
          ? fmt::format("{} ({}{})", measured->of->measured->measure, measured_label,
                        any_published ? "; publ.: published, not measured" : "")
          : fmt::format("nDCG@10 over {} ({})", all.front().of->published->task, published_label);
  figure.front = front_of(all, any_measured);
  if (figure.front.size() < 2) figure.front.clear();
  for (const Placed& one : all) {
    std::string mark = one.is_equivalent() ? "†" : "";
    if (any_measured && !one.is_measured) mark += mark.empty() ? "publ." : " publ.";
    figure.series.push_back({.name = one.of->name,
                             .style_key = one.of->contender,
                             .points = {{.x = one.x,
                                         .y = one.y,
                                         .low = one.y,
                                         .high = one.y,
                                         .label = label_of(one, figure.front),
                                         .cell = one.of->cell,
                                         .mark = std::move(mark)}}});
  }
  figure.warning = legend_of(all, !figure.front.empty());
  return figure;
}

std::optional<ReadableRange> readable_range(std::span<const Figure> figures) {
  constexpr double least_span = 0.04;
  std::vector<double> values;
  for (const Figure& figure : figures) {
    for (const Series& series : figure.series) {
      for (const Point& point : series.points) values.push_back(point.y);
    }
  }
  if (values.empty()) return std::nullopt;
  const auto [low, high] = std::ranges::minmax(values);
  const double middle = (low + high) / 2;
  const double span = std::max(least_span, 1.4 * (high - low));
  return ReadableRange{std::max(0.0, middle - span / 2), middle + span / 2};
}

}  // namespace attnscope::report
