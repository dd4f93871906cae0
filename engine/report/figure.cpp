// SPDX-License-Identifier: Apache-2.0
#include "engine/report/figure.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <utility>

#include "base/sentences.h"
#include "engine/report/row.h"
#include "engine/report/row_values.h"
#include "engine/report/sheet.h"

namespace attnscope::report {

namespace {

struct XWords {
  std::string_view name, key, label;
};
// In the order of XAxis.
constexpr std::array<XWords, 3> x_words{{
    {"length", "sequence_tokens", "Sequence length (tokens)"},
    {"window", window_key, "Window w (tokens)"},
    {"candidates", "candidates", "Candidates of a query"},
}};
const XWords& words_along(XAxis x) {
  return x_words.at(static_cast<std::size_t>(x));
}

constexpr std::array<std::string_view, 3> scale_names{"linear", "log2", "log10"};

constexpr std::array<View, 16> all_views{{
    {YAxis::time, "time", "Time"},
    {YAxis::memory, "memory", "Memory"},
    {YAxis::ratio, "ratio", "Ratio to the baseline", true},
    {YAxis::limit, "limit", "Share of the limit"},
    {YAxis::roofline, "roofline", "Roofline"},
    {YAxis::executed, "executed", "Executed / useful work"},
    {YAxis::per_token, "per-token", "Time per token"},
    {YAxis::per_ms, "per-ms", "Documents per ms", false, true},
    {YAxis::per_query, "per-query", "Time per query", false, true},
    {YAxis::effectiveness, "effectiveness", "Effectiveness against time", false, false, true},
    {YAxis::stages, "stages", "Stages", false, true},
    {YAxis::parts, "parts", "Parts of a call", false, true},
    {YAxis::cache, "cache", "Size of cached documents", false, true},
    {YAxis::space, "space", "Size of cached documents against time", false, true},
    {YAxis::trec_ndcg, "trec-ndcg", "Published nDCG@10, TREC 2019", false, true},
    {YAxis::dev_ndcg, "dev-ndcg", "Published nDCG@10, Dev", false, true},
}};

template <typename Names>
Result<std::size_t> place_in(const Names& names, std::string_view option, std::string_view what,
                             std::string_view text) {
  const auto found = std::ranges::find(names, text);
  if (found == names.end()) {
    return fail("{}: there is no {} '{}'; {}", option, what, in_a_sentence(text),
                suggest(in_a_sentence(text), names));
  }
  return static_cast<std::size_t>(found - names.begin());
}

}  // namespace

std::span<const View> views() {
  return all_views;
}

const View& view_of(YAxis y) {
  const auto found = std::ranges::find(all_views, y, &View::y);
  assert(found != all_views.end());
  return *found;
}

bool has_time(YAxis y) {
  return y == YAxis::time || y == YAxis::per_token || y == YAxis::ratio || y == YAxis::per_ms ||
         y == YAxis::per_query;
}

bool depends_on_times(YAxis y) {
  return y != YAxis::memory && y != YAxis::executed && y != YAxis::cache;
}

bool has_bars(YAxis y) {
  return y == YAxis::stages || y == YAxis::parts;
}

std::string_view key_along(XAxis x) {
  return words_along(x).key;
}

std::string_view name_of(XAxis x) {
  return words_along(x).name;
}

std::string_view label_along(XAxis x) {
  return words_along(x).label;
}

Result<XAxis> parse_x(std::string_view text) {
  std::array<std::string_view, x_words.size()> names;
  std::ranges::transform(x_words, names.begin(), &XWords::name);
  return place_in(names, "--x", "axis", text).map([](std::size_t i) {
    return static_cast<XAxis>(i);
  });
}

Result<YAxis> parse_y(std::string_view text) {
  std::array<std::string_view, all_views.size()> names;
  std::ranges::transform(all_views, names.begin(), &View::key);
  return place_in(names, "--y", "axis", text).map([](std::size_t i) { return all_views.at(i).y; });
}

Result<std::vector<YAxis>> parse_ys(std::string_view text) {
  std::vector<YAxis> ys;
  while (true) {
    const std::size_t comma = text.find(',');
    const Result<YAxis> y = parse_y(text.substr(0, comma));
    if (!y) return tl::unexpected(y.error());
    if (std::ranges::find(ys, *y) != ys.end()) {
      return fail("--y: '{}' is repeated; name every value once", text.substr(0, comma));
    }
    ys.push_back(*y);
    if (comma == std::string_view::npos) return ys;
    text.remove_prefix(comma + 1);
  }
}

Result<Scale> parse_scale(std::string_view option, std::string_view text) {
  return place_in(scale_names, option, "scale", text).map([](std::size_t i) {
    return static_cast<Scale>(i);
  });
}

std::string_view name_of(Scale scale) {
  return scale_names.at(static_cast<std::size_t>(scale));
}

namespace {

constexpr std::string_view not_on_a_log_axis =
    "its value is 0, which a logarithmic axis cannot show";

/// Sorts by x if the figure is along x.
void put_back(const Figure& figure, Series& series) {
  std::vector<RailMark> kept;
  for (RailMark& mark : series.rail) {
    if (mark.value && can_show(figure.y_scale, mark.value->y)) {
      series.points.push_back(*mark.value);
    } else {
      kept.push_back(std::move(mark));
    }
  }
  series.rail = std::move(kept);
  if (figure.along_x) std::ranges::stable_sort(series.points, {}, &Point::x);
}

void take_out(const Figure& figure, Series& series) {
  std::vector<Point> kept;
  for (Point& point : series.points) {
    if (can_show(figure.y_scale, point.y) || !std::isfinite(point.y)) {
      kept.push_back(std::move(point));
    } else {
      series.rail.push_back({.x = point.x,
                             .status = CellStatus::ok,
                             .reason = std::string(not_on_a_log_axis),
                             .label = point.label,
                             .value = point,
                             .cell = point.cell});
    }
  }
  series.points = std::move(kept);
  if (figure.along_x) std::ranges::stable_sort(series.rail, {}, &RailMark::x);
}

bool has_labels(const Figure& figure) {
  return std::ranges::any_of(figure.series, [](const Series& series) {
    const auto is_labelled = [](const auto& entry) { return !entry.label.empty(); };
    return std::ranges::any_of(series.points, is_labelled) ||
           std::ranges::any_of(series.rail, is_labelled);
  });
}

/// The data file of a figure, as a Sheet; `before` precedes every row.
class FigureData {
 public:
  FigureData(std::vector<SheetColumn> before, bool has_labels) : has_labels_(has_labels) {
    sheet_.columns = std::move(before);
    for (const char* key : {"series", "x", "y", "low", "high", "status"})
      sheet_.columns.push_back({key, ""});
    if (has_labels) sheet_.columns.push_back({"label", ""});
  }

  void add(const Figure& figure, const std::vector<SheetCell>& before) {
    const auto add_row = [&](std::string_view name, std::array<Value, 4> numbers,
                             std::string_view status, std::string_view label = {}) {
      std::vector<SheetCell> cells = before;
      cells.emplace_back(std::string(name));
      for (Value& number : numbers) cells.emplace_back(std::move(number));
      cells.emplace_back(std::string(status));
      if (has_labels_) cells.emplace_back(std::string(label));
      sheet_.add(std::move(cells));
    };
    const auto x_of = [&](double x) -> Value {
      std::string name = name_on_x(figure, x);
      return name.empty() ? Value(x) : Value(std::move(name));
    };
    for (const Series& series : figure.series) {
      for (const Point& point : series.points) {
        add_row(series.name, {x_of(point.x), point.y, point.low, point.high}, "ok", point.label);
      }
      for (const RailMark& mark : series.rail) {
        add_row(series.name, {x_of(mark.x), mark.value ? Value(mark.value->y) : Value()},
                mark.word(), mark.label);
      }
    }
    for (const Mark& mark : figure.marks) {
      const auto about = std::ranges::find(figure.series, mark.style_key, &Series::style_key);
      if (about != figure.series.end()) add_row(about->name, {mark.x}, "crossover");
    }
    for (const Ceiling& ceiling : figure.ceilings) {
      add_row(ceiling.text, {ceiling.per_x ? Value(1.0) : Value(), ceiling.rate}, "ceiling");
    }
  }

  [[nodiscard]] std::string csv() const { return write_sheet(sheet_, TableFormat::csv); }

 private:
  bool has_labels_;
  Sheet sheet_;
};

}  // namespace

std::string_view RailMark::word() const {
  if (value) return "zero";
  if (!damaged && status == CellStatus::ok) return "no value";
  return damaged ? damaged_status : name_of(status);
}

bool can_show(Scale scale, double value) {
  return std::isfinite(value) && (scale == Scale::linear || value > 0);
}

void set_scales(Figure& figure, std::optional<Scale> x, std::optional<Scale> y) {
  if (!figure.x_names.empty()) return;  // stacked bars start at 0
  figure.x_scale = x.value_or(figure.x_scale);
  figure.y_scale = y.value_or(figure.y_scale);
  for (Series& series : figure.series) {
    put_back(figure, series);
    take_out(figure, series);
  }
}

std::string name_on_x(const Figure& figure, double x) {
  if (!figure.x_names.empty()) return figure.x_names.at(static_cast<std::size_t>(x));
  return figure.infinite_x == x ? "inf" : "";
}

std::string figure_csv(const Figure& figure) {
  FigureData data({}, has_labels(figure));
  data.add(figure, {});
  return data.csv();
}

std::string facets_csv(const Facets& facets) {
  FigureData data({{"panel", ""}, {"value", ""}}, std::ranges::any_of(facets.panels, has_labels));
  for (const Figure& panel : facets.panels) data.add(panel, {panel.title, panel.y_label});
  return data.csv();
}

}  // namespace attnscope::report
