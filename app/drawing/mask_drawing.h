#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// MaskDrawing lays out a mask on a page: cells, coloured margins, group names, legend. Lengths are
// based on `em` as in ChartDrawing. Cells are rendered from the rows' key intervals: where a pixel
// holds many pairs, its strength is the fraction of allowed pairs.

#include <QPainter>
#include <QRectF>
#include <QString>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/drawing/chart_style.h"
#include "app/drawing/map.h"
#include "app/drawing/mask_problem.h"
#include "app/drawing/printable.h"

namespace attnscope::charts {

/// A text of the legend, a colour box, or both. A mask's legend is the pattern's table of present
/// groups, row by row: which group attends to which, in the cells' colours, with "w = 4" next to
/// windows.
struct MaskLegendEntry {
  QString text;
  QRectF rect;  // of the text
  bool faint = false;
  QRectF box;  // empty: none
  QColor color = {};
  std::optional<DifferencePart> part = {};  // replaces the colour
};

class MaskDrawing {
 public:
  struct Page {
    QSizeF size;
    double em = 12;
    ChartTheme theme = ChartTheme::light;
    bool title = false;
    bool legend = true;
    bool names = true;  // of groups, captions and notes; false: only the coloured margins
  };

  MaskDrawing(DrawnMasks masks, const MapFocus& focus, const Page& page);

  /// The page with these cells; while they are null, with a map of one colour.
  void paint(QPainter& painter, const QImage& cells) const;
  /// The page with its cells as rectangles; for few tokens (see cells_fit_vectors).
  void paint_vectors(QPainter& painter) const;
  [[nodiscard]] bool cells_fit_vectors() const;

  /// The cells to render, at `pixels_per_unit` pixels per page unit.
  [[nodiscard]] CellPicture picture(double pixels_per_unit) const;

  [[nodiscard]] const MapSquare& square() const { return square_; }
  [[nodiscard]] const std::vector<MaskLegendEntry>& legend() const { return legend_; }
  /// The line below the mask, which names what is not to scale.
  [[nodiscard]] const QString& note() const { return note_; }
  /// Height of the page that holds all elements without slack.
  [[nodiscard]] double needed_height() const { return needed_height_; }

 private:
  enum class Side { rows, columns };
  [[nodiscard]] std::vector<TokenGroup> present_groups() const;
  void collect_texts();
  void lay_out(const MapFocus& focus);
  void lay_out_group_legend();
  void lay_out_difference_legend();
  void move_legend(double x, double y);
  /// Start of a token on the page, along one side.
  [[nodiscard]] double page_begin(Side side, std::int64_t token) const;
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> visible_tokens(Side side,
                                                                     const MapBlock& block) const;

  void paint_ground(QPainter& painter) const;
  void paint_cells(QPainter& painter) const;
  /// Draws everything around the cells, and lines between them if they are large enough.
  void paint_frame(QPainter& painter) const;
  void paint_margin(QPainter& painter, Side side) const;
  void paint_margin_run(QPainter& painter, Side side, double begin, double end,
                        TokenGroup group) const;
  void paint_group_names(QPainter& painter, Side side) const;
  void paint_legend(QPainter& painter) const;
  void paint_difference_cells(QPainter& painter) const;
  void paint_cell_lines(QPainter& painter) const;

  DrawnMasks masks_;
  const MaskProblem& problem_;
  Page page_;
  QString title_, note_;
  QRectF title_rect_, note_rect_;
  MapSquare square_;
  std::vector<QString> names_;  // of the axis' blocks
  std::vector<MaskLegendEntry> legend_;
  QSizeF legend_size_;
  double row_caption_left_ = 0;
  double strip_ = 0;  // thickness of the coloured margins
  double needed_height_ = 0;
};

/// Draws a part of a difference in its colour and hatching.
void paint_part(QPainter& painter, const QRectF& rect, DifferencePart part, ChartTheme theme,
                double em);

/// A mask's source, and how to show it.
struct MaskSubject {
  MaskSource source;
  LayoutItem item;
  MaskStyle style = MaskStyle::schematic;
  bool legend = true;
  std::string command = {};  // redraws the figure; stored in the file
  /// If set: shows the pairs that only the first mask allows, only this one, and both, on the same
  /// item.
  std::optional<MaskSource> against = {};
};

/// A light figure whose height follows from its width. In .pdf and .svg, the cells of up to some
/// hundred tokens are vectors; those of more are an image of 600 dpi inside vector lines and text.
/// The .csv has every run of keys: query,first_key,last_key (for a difference, mask A or B precedes
/// them). The first page reports errors of the pattern or the layout.
[[nodiscard]] Printable printable(MaskSubject subject);

inline constexpr double mask_width_mm = 84;  // default

}  // namespace attnscope::charts
