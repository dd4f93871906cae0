#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A document with the regions that determine its score: all regions as a heat strip, the best ones
// with the matches that give their scores, and the text with those regions marked. One drawing for
// the window and for files; its height follows from its width.
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

#include "app/drawing/chart_style.h"
#include "app/drawing/printable.h"
#include "engine/inspect/regions.h"

namespace attnscope::charts {

class RegionsDrawing {
 public:
  struct Page {
    double width = 0;  // in the painter's units, as all lengths below
    double em = 0;
    ChartTheme theme = ChartTheme::light;
    bool title = true;
    bool excerpts = false;  // show only the marked words of the text
    QString caption = {};
  };
  RegionsDrawing(std::shared_ptr<const DocumentRegions> regions, Page page);

  [[nodiscard]] double height() const { return height_; }
  /// `shown`: the region to frame in the strip and underline in the text.
  void paint(QPainter& painter, std::optional<std::int64_t> shown = std::nullopt) const;
  /// The region at a point: in the strip and on a plain word, the region centred there; on a marked
  /// word or a best region's line, that region.
  [[nodiscard]] std::optional<std::int64_t> region_at(QPointF point) const;
  /// Description of the region at a point: its words, its score and, for the best regions, the
  /// matches that determine it. Empty: no region.
  [[nodiscard]] QString words_at(QPointF point) const;

 private:
  /// A part of the text in one style.
  struct Run {
    QRectF rect{};
    QString text{};
    std::int64_t first = 0, end = 0;  // words
    int peak = -1;                    // -1: not marked
    bool alongside = false;
    bool left_out = false;
    bool requested = false;  // a word of the query
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
    int peak = -1;  // drawn with its colour in front
  };
  std::shared_ptr<const DocumentRegions> regions_;
  Page page_;
  std::vector<Lines> lines_;
  std::vector<Run> runs_;
  std::vector<QRectF> words_;  // rectangle of each word, empty if it is not drawn
  RegionStrip heat_;
  QRectF strip_, ramp_;
  double line_ = 0, height_ = 0;
};

/// A figure of the strip, the best regions and their words.
[[nodiscard]] Printable printable(DocumentRegions regions);

}  // namespace attnscope::charts
