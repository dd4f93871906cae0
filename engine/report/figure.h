#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Charts as plain numbers: the views of a run, with the names of axes and scales, and the data of a
// chart, shared by the window's charts, `plot` and the data file next to a figure. Drawing is in
// app/drawing; run_figures.h makes the figures of a run.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/heat/cell.h"

namespace attnscope::report {

// What a figure of a run has on x and on y, and the names of these views, axes and scales in `plot`
// and in the window.

enum class XAxis : std::uint8_t { length, window, candidates };
/// The --only key of the x axis, and its name in --x.
[[nodiscard]] std::string_view key_along(XAxis x);
[[nodiscard]] std::string_view name_of(XAxis x);
/// "Sequence length (tokens)".
[[nodiscard]] std::string_view label_along(XAxis x);
/// The views of a run, most of them over an XAxis. Three views have another quantity on x: the
/// roofline the work per byte, space the time of a query, and the published nDCG@10 of a model the
/// documents scored here per millisecond; they join a contender's points in the order of the XAxis.
/// Effectiveness is plotted over the time of a document, one point per contender. Stages are bars,
/// one per contender, and so are the parts of a call, at each length.
enum class YAxis : std::uint8_t {
  time,
  memory,
  limit,
  ratio,
  per_token,
  per_ms,
  executed,
  roofline,
  per_query,
  cache,
  space,
  trec_ndcg,
  dev_ndcg,
  effectiveness,
  stages,
  parts
};
enum class Scale : std::uint8_t { linear, log2, log10 };

/// A view, with its title in the window and its key in `plot --y`.
struct View {
  YAxis y;
  std::string_view key;    // "per-token"
  std::string_view title;  // "Time per token"
  bool needs_baseline = false;
  bool of_models = false;      // only for re-rankers
  bool of_one_length = false;  // shown in the window's answers
};
/// Every view, in display order.
[[nodiscard]] std::span<const View> views();
[[nodiscard]] const View& view_of(YAxis y);

[[nodiscard]] Result<XAxis> parse_x(std::string_view text);
[[nodiscard]] Result<YAxis> parse_y(std::string_view text);
/// "time,memory": several values are drawn side by side.
[[nodiscard]] Result<std::vector<YAxis>> parse_ys(std::string_view text);
/// `option` is named in the error: "--scale-x".
[[nodiscard]] Result<Scale> parse_scale(std::string_view option, std::string_view text);
[[nodiscard]] std::string_view name_of(Scale scale);

[[nodiscard]] bool has_time(YAxis y);
/// Whether the view has stacked bars, on axes of their own.
[[nodiscard]] bool has_bars(YAxis y);
/// Whether the view depends on measured times, so that disturbances affect it: false for bytes and
/// planned work.
[[nodiscard]] bool depends_on_times(YAxis y);

// The data of a chart as plain numbers, shared by the window's charts, `plot` and the data file
// next to a figure. Drawing is in app/drawing; run_figures.h makes the figures of a run.

struct Point {
  double x = 0;
  // ms or MB per document, share of limit, ratio, ms per 1000 tokens, executed over useful work,
  // useful GFLOP/s, documents per ms, ms per query, MB kept of the documents, ms per document of a
  // stage, ms of a part per 1000 tokens, nDCG@10
  double y = 0;
  double low = 0, high = 0;  // 95% interval; equal to y where there is none
  std::string label = {};    // if x does not identify the cell: "4096 tokens"
  std::int64_t cell = -1;    // number in the run; -1: not part of a run
  std::string mark = {};     // drawn next to it: "†"
};

/// A cell without a value: drawn on the rail at the top.
struct RailMark {
  double x = 0;
  CellStatus status = CellStatus::oom;
  std::string reason;
  bool damaged = false;  // then the stored status cannot be trusted and is not the cell's own
  std::string label = {};
  /// A value of 0, which the scale of y cannot show but another scale can.
  std::optional<Point> value = std::nullopt;
  std::int64_t cell = -1;                       // like Point::cell
  [[nodiscard]] std::string_view word() const;  // "oom", "damaged"
};

/// One contender as one line, with one style bound to `style_key` in every chart. In bar charts:
/// one segment of each bar.
struct Series {
  std::string name;
  std::string style_key;  // contender id; in bar charts the stage or the part
  std::vector<Point> points =
      {};  // ascending x (roofline: length or window), finite, fit for the scale
  std::vector<RailMark> rail = {};
};

/// A position on x with a vertical line: where a contender overtakes the baseline.
struct Mark {
  double x = 0;
  std::string text;       // "from 96 tokens"
  std::string style_key;  // of the contender it is about
};

/// An upper bound of the points: y = rate, or y = rate * x for a bandwidth.
struct Ceiling {
  std::string text;  // "312 GFLOP/s", "18.2 GB/s in 64 MB"
  double rate = 0;   // in y's unit
  bool per_x = false;
};

struct Figure {
  std::string title, x_label, y_label;
  Scale x_scale = Scale::log2, y_scale = Scale::log10;
  std::optional<double> line_at = std::nullopt;  // reference line: 1 for ratios
  std::vector<Series> series = {};
  std::string provenance = {};
  // If not empty: bars, which stack the series' values at x = 0, 1, ...; these are the names of the
  // x values.
  std::vector<std::string> x_names = {};
  /// For x = window: the position of the infinite window, beyond all others; it is labelled "inf".
  std::optional<double> infinite_x = std::nullopt;
  std::vector<Mark> marks = {};        // only on request
  std::vector<Ceiling> ceilings = {};  // of a roofline
  std::vector<Point> front = {};       // a Pareto front: joined by a line beneath the series
  bool along_x = true;                 // false: points are joined in their own order, not by x
  bool is_joined = true;               // false: points are not joined
  bool has_markers = true;             // false: they would hide the line
  int without_place = 0;               // number of cells without x: their work was never planned
  std::string warning = {};  // a warning for readers of a published figure: disturbed_share
};

/// Overrides the figure's scales; bars are not affected. Values that a scale cannot show go to the
/// rail and return with a scale that can.
void set_scales(Figure& figure, std::optional<Scale> x, std::optional<Scale> y);
[[nodiscard]] bool can_show(Scale scale, double value);

/// Panels with a common title and footer.
struct Facets {
  std::string title;           // the axis values that all panels share
  std::vector<Figure> panels;  // each titled with its own value: "float16", "w = 4"
  int columns = 0;             // panels per row; 0: as many as fit
  std::string provenance;
  std::string warning = {};  // like Figure::warning
};

/// The name of a named x position, of bars or of the infinite window; "" if it is a number.
[[nodiscard]] std::string name_on_x(const Figure& figure, double x);

/// The figure's numbers as CSV: series,x,y,low,high,status, with a label column if points have
/// labels. Marks have the status "crossover". Ceilings have the status "ceiling"; a bandwidth has
/// its y at x = 1.
[[nodiscard]] std::string figure_csv(const Figure& figure);
/// The same for all panels, preceded by the panel's title and its y axis: panel,value,...
[[nodiscard]] std::string facets_csv(const Facets& facets);

}  // namespace attnscope::report
