#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A document with the regions that made its score: all regions as a strip of heat, the best ones
// with what made them, and the words with those regions marked. One drawing for the window and for
// files; its height follows from its width.
//
//   const RegionsDrawing drawing(regions, {.width = 800, .em = 13});
//   resize(800, drawing.height());
//   drawing.paint(painter, drawing.region_at(mouse));

#include <QPainter>
#include <QPointF>
#include <QRectF>
#include <QString>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "app/gui/charts/chart_theme.h"
#include "app/gui/charts/printable.h"
#include "engine/inspect/regions.h"

namespace attnscope::charts {

class RegionsDrawing {
 public:
  struct Page {
    double width = 0;  // of the painter's units, as all below
    double em = 0;
    ChartTheme theme = ChartTheme::light;
    bool title = true;
    bool excerpts = false;  // of the words, the marked ones alone
    QString caption = {};
  };
  RegionsDrawing(std::shared_ptr<const DocumentRegions> regions, Page page);

  [[nodiscard]] double height() const { return height_; }
  /// `shown`: a region that is framed in the strip and underlined in the text.
  void paint(QPainter& painter, std::optional<std::int64_t> shown = std::nullopt) const;
  /// The region that stands there: of the strip and of a word the one whose middle it is, of a
  /// marked word and of a best region's line that one.
  [[nodiscard]] std::optional<std::int64_t> region_at(QPointF point) const;
  /// What stands there, in words: the region's words, its score, and of the best ones what made it;
  /// empty: nothing.
  [[nodiscard]] QString words_at(QPointF point) const;

 private:
  /// A part of the text in one style.
  struct Run {
    QRectF rect{};
    QString text{};
    std::int64_t first = 0, end = 0;  // words
    int peak = -1;                    // -1: not marked
    bool beside = false;
    bool left_out = false;
    bool asked = false;  // a word of the query
  };
  void lay_out();
  void add_lines(double& y, const QString& text, double size, bool bold, bool faint);
  void add_strip(double& y);
  void add_peaks(double& y);
  void add_words(double& y);
  void paint_strip(QPainter& painter, std::optional<std::int64_t> shown) const;
  [[nodiscard]] std::optional<std::int64_t> region_in_the_middle_of(double word) const;

  struct Lines {
    QRectF rect{};
    QString text{};
    double size;
    bool bold, faint;
    int peak = -1;  // with its colour before it
  };
  std::shared_ptr<const DocumentRegions> regions_;
  Page page_;
  std::vector<Lines> lines_;
  std::vector<Run> runs_;
  std::vector<QRectF> words_;  // of each word, empty where it is not drawn
  RegionStrip heat_;
  QRectF strip_, ramp_;
  double line_ = 0, height_ = 0;
};

/// As a figure: the strip, the best regions and their words.
[[nodiscard]] Printable printable(DocumentRegions regions);

}  // namespace attnscope::charts
