// SPDX-License-Identifier: Apache-2.0
//
// The data file beside a figure. Numbers are written in the shortest form that reads back.
#include <fmt/format.h>

#include <algorithm>

#include "engine/report/figure.h"
#include "engine/report/writers.h"

namespace attnscope::report {
namespace {

bool has_labels(const Figure& figure) {
  return std::ranges::any_of(figure.series, [](const Series& series) {
    return std::ranges::any_of(series.points,
                               [](const Point& point) { return !point.label.empty(); }) ||
           std::ranges::any_of(series.rail,
                               [](const RailMark& mark) { return !mark.label.empty(); });
  });
}

std::string_view header(bool labels) {
  return labels ? "series,x,y,low,high,status,label\r\n" : "series,x,y,low,high,status\r\n";
}

std::string rows_of(const Figure& figure, const std::string& before, bool labels) {
  std::string text;
  const auto add = [&](std::string_view name, const std::string& values, std::string_view label) {
    text += fmt::format("{}{},{}", before, csv_field(name), values);
    if (labels) text += fmt::format(",{}", csv_field(label));
    text += "\r\n";
  };
  for (const Series& series : figure.series) {
    for (const Point& point : series.points) {
      add(series.name, fmt::format("{},{},{},{},ok", point.x, point.y, point.low, point.high),
          point.label);
    }
    for (const RailMark& mark : series.rail) {
      const std::string y = mark.value ? fmt::format("{}", mark.value->y) : "";
      add(series.name, fmt::format("{},{},,,{}", mark.x, y, mark.word()), mark.label);
    }
  }
  for (const Mark& mark : figure.marks) {
    const auto about = std::ranges::find(figure.series, mark.style_key, &Series::style_key);
    if (about != figure.series.end()) add(about->name, fmt::format("{},,,,crossover", mark.x), "");
  }
  for (const Ceiling& ceiling : figure.ceilings) {
    add(ceiling.text, fmt::format("{},{},,,ceiling", ceiling.per_x ? "1" : "", ceiling.rate), "");
  }
  return text;
}

}  // namespace

std::string figure_csv(const Figure& figure) {
  const bool labels = has_labels(figure);
  return std::string(header(labels)) + rows_of(figure, "", labels);
}

std::string facets_csv(const Facets& facets) {
  const bool labels = std::ranges::any_of(facets.panels, has_labels);
  std::string text = "panel,value," + std::string(header(labels));
  for (const Figure& panel : facets.panels) {
    text += rows_of(panel, csv_field(panel.title) + "," + csv_field(panel.y_label) + ",", labels);
  }
  return text;
}

}  // namespace attnscope::report
