#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a chart of a run draws, as plain numbers: shared by the window's charts, `plot` and the data
// file beside a figure. Drawing itself is app/gui/charts.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/report/table.h"

namespace attnscope::report {

enum class XAxis : std::uint8_t { length, window };
enum class YAxis : std::uint8_t { time, memory, limit, ratio, per_token, executed };
[[nodiscard]] Result<XAxis> parse_x(std::string_view text);
[[nodiscard]] Result<YAxis> parse_y(std::string_view text);
/// "time,memory": several values are drawn side by side.
[[nodiscard]] Result<std::vector<YAxis>> parse_ys(std::string_view text);

struct Point {
  double x = 0;
  // ms or MB per document, share of limit, ratio, ms per 1000 tokens, executed over useful work
  double y = 0;
  double low = 0, high = 0;  // 95% interval; equal to y where there is none
};

/// A cell without a value: drawn on the rail at the top.
struct RailMark {
  double x = 0;
  CellStatus status = CellStatus::oom;
  std::string reason;
  bool damaged = false;  // then the status is not the cell's own: it has none that could be trusted
  [[nodiscard]] std::string_view word() const;  // "oom", "damaged"
};

/// One contender, one line, one style bound to `style_key` in every chart.
struct Series {
  std::string name;
  std::string style_key;      // contender id
  std::vector<Point> points;  // ascending x, finite, y > 0 for log axes
  std::vector<RailMark> rail;
};

/// A place on x that is worth a line: where a contender overtakes the baseline.
struct Mark {
  double x = 0;
  std::string text;       // "from 96 tokens"
  std::string style_key;  // of the contender it is about
};

struct Figure {
  std::string title, x_label, y_label;
  bool log_x = true, log_y = true;
  std::optional<double> line_at = std::nullopt;  // y that all are read against: 1 for ratios
  std::vector<Series> series;
  std::string provenance;
  std::vector<Mark> marks = {};  // only where they were asked for
};

/// With x = length, windowed contenders give one series a window. With x = window, contenders
/// without a window are drawn at every window. `title` names the axes that are fixed. An error when
/// the cells mix values of another axis (dtype, batch limit, ...): it names the axis and --only.
[[nodiscard]] Result<Figure> make_figure(const Table& table, XAxis x, YAxis y);

/// Marks where contenders overtake the table's baseline; the figure is of that table and that x.
void mark_crossovers(Figure& figure, const Table& table, XAxis x);

/// Panels that share what stands around them.
struct Facets {
  std::string title;           // the axes that all panels share
  std::vector<Figure> panels;  // each titled with its value alone: "float16", "w = 4"
  int columns = 0;             // panels of a row; 0: as many as fit
  std::string provenance;
};

/// One figure for each value of `key`, which is a key of --only, in the table's order; an empty key
/// stands for all rows together. Several `ys` are the columns of a row each. Contenders without a
/// window stand in every panel of a window. An error when the key is unknown or runs along x
/// already, or when a panel would mix values of yet another axis.
[[nodiscard]] Result<Facets> make_facets(const Table& table, XAxis x, const std::vector<YAxis>& ys,
                                         std::string_view key);

/// The figure's numbers as CSV: series,x,y,low,high,status.
[[nodiscard]] std::string figure_csv(const Figure& figure);

}  // namespace attnscope::report
