#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a chart of a run draws, as plain numbers: shared by the window's charts, `plot` and the data
// file beside a figure. Drawing itself is app/gui/charts.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/report/table.h"

namespace attnscope::report {

enum class XAxis : std::uint8_t { length, window, candidates };
/// The key of --only that runs along it, and how --x names it.
[[nodiscard]] std::string_view key_along(XAxis x);
[[nodiscard]] std::string_view name_of(XAxis x);
/// The views of a run, most of them along an XAxis. The roofline has the work per byte along x,
/// space the time of a query, and the nDCG@10 that was published of a model how many documents it
/// scores here in a millisecond: they join a contender's points in the order of that XAxis.
/// Effectiveness stands over the time of a document, a point a contender. Stages are bars, a
/// contender each, and so are the parts of a call, at each length.
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

/// A view as the window offers it and as `plot --y` names it.
struct View {
  YAxis y;
  std::string_view key;    // "per-token"
  std::string_view title;  // "Time per token"
  bool needs_baseline = false;
  bool of_models = false;      // of re-rankers alone
  bool of_one_length = false;  // the window has it in its answers
};
/// Every view, in the order in which they are offered.
[[nodiscard]] std::span<const View> views();
[[nodiscard]] const View& view_of(YAxis y);

[[nodiscard]] Result<XAxis> parse_x(std::string_view text);
[[nodiscard]] Result<YAxis> parse_y(std::string_view text);
/// "time,memory": several values are drawn side by side.
[[nodiscard]] Result<std::vector<YAxis>> parse_ys(std::string_view text);
/// `option` is named in the error: "--scale-x".
[[nodiscard]] Result<Scale> parse_scale(std::string_view option, std::string_view text);
[[nodiscard]] std::string_view name_of(Scale scale);

struct Point {
  double x = 0;
  // ms or MB per document, share of limit, ratio, ms per 1000 tokens, executed over useful work,
  // useful GFLOP/s, documents per ms, ms per query, MB kept of the documents, ms per document of a
  // stage, ms of a part per 1000 tokens, nDCG@10
  double y = 0;
  double low = 0, high = 0;  // 95% interval; equal to y where there is none
  std::string label = {};    // where x does not tell which cell it is: "4096 tokens"
  std::int64_t cell = -1;    // its number in the run; -1: of no run
  std::string mark = {};     // stands beside it: "†"
};

/// A cell without a value: drawn on the rail at the top.
struct RailMark {
  double x = 0;
  CellStatus status = CellStatus::oom;
  std::string reason;
  bool damaged = false;  // then the status is not the cell's own: it has none that could be trusted
  std::string label = {};
  /// A value of 0, which the scale of y cannot show; another scale can.
  std::optional<Point> value = std::nullopt;
  std::int64_t cell = -1;                       // as a point's
  [[nodiscard]] std::string_view word() const;  // "oom", "damaged"
};

/// One contender, one line, one style bound to `style_key` in every chart. Of bars: one piece of
/// each.
struct Series {
  std::string name;
  std::string style_key;      // contender id; of bars the stage or the part
  std::vector<Point> points;  // ascending x (roofline: length or window), finite, fit for the scale
  std::vector<RailMark> rail;
};

/// A place on x that is worth a line: where a contender overtakes the baseline.
struct Mark {
  double x = 0;
  std::string text;       // "from 96 tokens"
  std::string style_key;  // of the contender it is about
};

/// What no point can lie above: y = rate, or y = rate * x for a bandwidth.
struct Ceiling {
  std::string text;  // "312 GFLOP/s", "18.2 GB/s in 64 MB"
  double rate = 0;   // in y's unit
  bool per_x = false;
};

struct Figure {
  std::string title, x_label, y_label;
  Scale x_scale = Scale::log2, y_scale = Scale::log10;
  std::optional<double> line_at = std::nullopt;  // y that all are read against: 1 for ratios
  std::vector<Series> series;
  std::string provenance;
  // Not empty: bars, which stack the series' values at x = 0, 1, ..., whose names these are.
  std::vector<std::string> x_names = {};
  /// Along windows: where the infinite one stands, beyond all others; its name there is "inf".
  std::optional<double> infinite_x = std::nullopt;
  std::vector<Mark> marks = {};        // only where they were asked for
  std::vector<Ceiling> ceilings = {};  // of a roofline
  std::vector<Point> front = {};       // joined by a line beneath the series: a Pareto front
  bool along_x = true;       // false: points are joined in their own order, wherever x leads
  bool is_joined = true;     // false: every point stands alone
  bool has_markers = true;   // false: they would hide the line
  int without_place = 0;     // cells whose x is not known: their work was never planned
  std::string warning = {};  // what whoever sees it in a paper has to know: disturbed_share
};

/// With x = length or candidates, windowed contenders give one series a window. With x = window,
/// contenders without a window are drawn at every window. `title` names the axes that are fixed. An
/// error when the cells mix values of another axis (dtype, batch limit, ...): it names the axis and
/// --only.
[[nodiscard]] Result<Figure> make_figure(const Table& table, XAxis x, YAxis y);

/// Marks where contenders overtake the table's baseline in time; the figure is of that table and
/// that x. Figures that do not tell time keep without marks.
void mark_crossovers(Figure& figure, const Table& table, XAxis x, YAxis y);
[[nodiscard]] bool tells_time(YAxis y);
/// Stacked ones, on axes of their own.
[[nodiscard]] bool has_bars(YAxis y);
/// Whether what disturbs times disturbs it: neither bytes nor planned work.
[[nodiscard]] bool rests_on_times(YAxis y);

/// Other scales than the figure's own, of bars none. Values that a scale cannot show go to the rail
/// and come back with one that can.
void set_scales(Figure& figure, std::optional<Scale> x, std::optional<Scale> y);
[[nodiscard]] bool can_show(Scale scale, double value);

/// Panels that share what stands around them.
struct Facets {
  std::string title;           // the axes that all panels share
  std::vector<Figure> panels;  // each titled with its value alone: "float16", "w = 4"
  int columns = 0;             // panels of a row; 0: as many as fit
  std::string provenance;
  std::string warning = {};  // as a figure's
};

/// One figure for each value of `key`, which is a key of --only, in the table's order; an empty key
/// stands for all rows together. Several `ys` are the columns of a row each. Contenders without a
/// window stand in every panel of a window. An error when the key is unknown or runs along x
/// already, or when a panel would mix values of yet another axis. `crossovers`: marked in every
/// panel that tells time.
[[nodiscard]] Result<Facets> make_facets(const Table& table, XAxis x, const std::vector<YAxis>& ys,
                                         std::string_view key, bool crossovers = false);

/// The name of a place on x that has one, of bars or of the infinite window; "" where it is a
/// number.
[[nodiscard]] std::string name_on_x(const Figure& figure, double x);

/// The figure's numbers as CSV: series,x,y,low,high,status, with a label column where points have
/// labels. Marks have the status "crossover". Ceilings have "ceiling", and a bandwidth its y at x
/// = 1.
[[nodiscard]] std::string figure_csv(const Figure& figure);
/// The same of all panels, with the panel's title and its y axis before them: panel,value,...
[[nodiscard]] std::string facets_csv(const Facets& facets);

}  // namespace attnscope::report
