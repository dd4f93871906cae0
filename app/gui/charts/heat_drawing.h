#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// HeatDrawing: the weights of one head laid out on a page, for the window and for paper: a title,
// the map, strips of the token groups beside it and, where there is room, the tokens themselves.

#include <QImage>
#include <QPainter>
#include <QString>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/charts/chart_theme.h"
#include "app/gui/charts/map_axis.h"
#include "engine/inspect/pooled_map.h"

namespace attnscope::charts {

/// What stands along both sides of a map.
struct HeatTokens {
  std::shared_ptr<const std::vector<TokenGroup>> groups;
  std::shared_ptr<const std::vector<std::string>> texts;  // null: none are written
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
  /// Of the page that holds all of this without slack.
  [[nodiscard]] double needed_height() const;
  /// The part of the weights that is seen, in at most one cell a pixel.
  [[nodiscard]] MapRegion region(double pixels_per_unit) const;
  /// The whole tokens that are seen, as many down as across.
  [[nodiscard]] MapRegion whole_tokens() const;
  /// `image` holds the weights of `region`, which may be another than the one that is seen.
  void paint(QPainter& painter, const QImage& image, const MapRegion& region) const;
  [[nodiscard]] QRectF rows_rect(TokenRange rows) const;
  /// Strips and tokens beside the rows: where they are chosen.
  [[nodiscard]] QRectF row_margin() const;

 private:
  [[nodiscard]] double strip_away() const { return 1.25 * strip_; }
  void paint_side(QPainter& painter, Qt::Orientation along) const;
  void paint_texts(QPainter& painter, Qt::Orientation along, double first) const;

  HeatTokens tokens_;
  Page page_;
  MapSquare square_;
  double strip_ = 0;  // thickness of the coloured margins
  double room_ = 0;   // for tokens; 0: none
};

}  // namespace attnscope::charts
