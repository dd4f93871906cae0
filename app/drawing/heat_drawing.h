#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// HeatDrawing lays out the weights of one head, tokens x tokens, on a page: a title, the map,
// strips of the token groups along it and, where there is room, the tokens. Rows attend, columns
// are attended to.

#include <QImage>
#include <QPainter>
#include <QString>
#include <memory>
#include <string>
#include <vector>

#include "app/drawing/chart_style.h"
#include "app/drawing/map.h"
#include "app/drawing/printable.h"
#include "engine/inspect/head_summary.h"

namespace attnscope::charts {

/// Labels along both sides of a map.
struct HeatTokens {
  std::shared_ptr<const std::vector<TokenGroup>> groups;
  std::shared_ptr<const std::vector<std::string>> texts;  // null: no labels
};

class HeatDrawing {
 public:
  struct Page {
    QSizeF size;
    double em = 12;
    ChartTheme theme = ChartTheme::light;
    QString title;  // empty: none
  };
  HeatDrawing(HeatTokens tokens, const MapFocus& focus, Page page);

  [[nodiscard]] const MapSquare& square() const { return square_; }
  /// Height of the page that holds all elements without slack.
  [[nodiscard]] double needed_height() const;
  /// The visible part of the weights, at most one cell per pixel.
  [[nodiscard]] MapRegion region(double pixels_per_unit) const;
  /// The visible whole tokens, as many rows as columns.
  [[nodiscard]] MapRegion whole_tokens() const;
  /// `image` holds the weights of `region`, which may differ from the visible region.
  void paint(QPainter& painter, const QImage& image, const MapRegion& region) const;
  [[nodiscard]] QRectF rows_rect(TokenRange rows) const;
  /// Strips and tokens along the rows, where rows are selected.
  [[nodiscard]] QRectF row_margin() const;

 private:
  [[nodiscard]] double strip_distance() const { return 1.25 * strip_; }
  void paint_side(QPainter& painter, Qt::Orientation along) const;
  void paint_texts(QPainter& painter, Qt::Orientation along, double first) const;

  HeatTokens tokens_;
  Page page_;
  MapSquare square_;
  double strip_ = 0;       // thickness of the coloured margins
  double text_space_ = 0;  // for tokens; 0: none
};

/// A number of a scale in few characters: "0.02", "1e-4", "1".
[[nodiscard]] QString weight_words(double value);

/// The colour ramp along a horizontal `rect`, with numbers below it in the painter's font.
void paint_color_bar(QPainter& painter, const QRectF& rect, const HeatScale& scale,
                     ChartTheme theme);

struct HeatPanel {
  QString title;
  PooledMap map;
  HeatScale scale;
};

/// One to three maps side by side, with strips of the token groups, a colour bar per scale and an
/// optional caption.
struct HeatFigure {
  std::vector<HeatPanel> panels;  // for the same tokens
  std::vector<TokenGroup> groups;
  /// Texts of all tokens, drawn along the axes where there is room; empty: none.
  std::vector<std::string> tokens;
  std::string title;       // source of the weights, in one line
  std::string provenance;  // the source in sentences: model, head, tokens, patterns, program
  std::string numbers;     // content of the .csv
};

/// A light figure whose height follows from its width; in .pdf and .svg, the weights are an image
/// of 600 dpi inside vector lines and text. The first page reports errors: no panel, maps that do
/// not fit the width.
[[nodiscard]] Printable printable(HeatFigure figure);

}  // namespace attnscope::charts
