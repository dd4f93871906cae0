// SPDX-License-Identifier: GPL-3.0-or-later
//
// The painting half of MaskDrawing.
#include <QFontMetricsF>
#include <algorithm>
#include <cmath>

#include "app/gui/charts/cell_raster.h"
#include "app/gui/charts/figure_font.h"
#include "app/gui/charts/mask_cells.h"
#include "app/gui/charts/mask_drawing.h"

namespace attnscope::charts {
namespace {

constexpr double boxed = 0.35;        // em; tokens from this size on are single boxes
constexpr double hair = 0.06;         // em
constexpr double hatch_period = 0.5;  // em, of the difference's hatching

// Moves labels of the given extents apart, in order, so that none overlap and all stay in [0, end].
std::vector<double> spread(std::vector<double> centers, const std::vector<double>& extents,
                           double end) {
  double last = 0;
  for (std::size_t i = 0; i < centers.size(); ++i) {
    centers[i] = std::max(centers[i], last + extents[i] / 2);
    last = centers[i] + extents[i] / 2;
  }
  double next = end;
  for (std::size_t i = centers.size(); i-- > 0;) {
    centers[i] = std::min(centers[i], next - extents[i] / 2);
    next = centers[i] - extents[i] / 2;
  }
  return centers;
}

}  // namespace

CellPicture MaskDrawing::picture(double pixels_per_unit) const {
  const int pixels = std::max(1, static_cast<int>(std::lround(cells_.width() * pixels_per_unit)));
  return {.problem = problem_,
          .other = other_,
          .axis = axis_,
          .pixels = pixels,
          .pixels_per_unit = pixels / cells_.width(),
          .hatch_pixels = hatch_period * page_.em * pixels_per_unit,
          .theme = page_.theme};
}

MaskDrawing::Cells MaskDrawing::render_cells(double pixels_per_unit) const {
  CellRaster raster(picture(pixels_per_unit));
  Cells cells{raster.render(), 0};
  cells.rows_sampled = raster.rows_sampled();
  return cells;
}

void MaskDrawing::paint_ground(QPainter& painter) const {
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setRenderHint(QPainter::TextAntialiasing);
  painter.fillRect(QRectF(QPointF(0, 0), page_.size), colors_of(page_.theme).background);
}

void MaskDrawing::paint_cells(QPainter& painter) const {
  painter.setPen(Qt::NoPen);
  for (const MaskBlock& rows : axis_.blocks()) {
    for (const MaskBlock& columns : axis_.blocks()) {
      const QRectF ground(cells_.left() + columns.begin, cells_.top() + rows.begin,
                          columns.end() - columns.begin, rows.end() - rows.begin);
      painter.fillRect(ground, ground_color(page_.theme));
    }
  }
  if (other_) return paint_difference_cells(painter);
  std::vector<TokenRange> intervals;
  for (std::int64_t query = 0; query < problem_.tokens(); ++query) {
    const double top = page_begin(Side::rows, query);
    const double height = axis_.extent_of(query);
    const TokenGroup from = problem_.group_of(query);
    problem_.keys_of(query, intervals);
    visit_blocks(axis_, intervals, [&](const MaskBlock& block, TokenRange keys) {
      visit_runs(problem_, block, keys, [&](TokenGroup to, TokenRange run) {
        const double width = block.units_per_token * static_cast<double>(run.size());
        painter.fillRect(QRectF(page_begin(Side::columns, run.begin), top, width, height),
                         pair_color(from, to, page_.theme));
      });
    });
  }
}

void MaskDrawing::paint_difference_cells(QPainter& painter) const {
  DifferenceRow row;
  for (std::int64_t query = 0; query < problem_.tokens(); ++query) {
    row.split(problem_, *other_, query);
    for (std::size_t p = 0; p < difference_part_count; ++p) {
      const auto part = static_cast<DifferencePart>(p);
      visit_blocks(axis_, row.keys(part), [&](const MaskBlock& block, TokenRange keys) {
        const double width = block.units_per_token * static_cast<double>(keys.size());
        paint_part(painter,
                   QRectF(page_begin(Side::columns, keys.begin), page_begin(Side::rows, query),
                          width, axis_.extent_of(query)),
                   part);
      });
    }
  }
}

// The hatching's lines lie where x + y (or x - y) is a whole number of periods, so that they go on
// from cell to cell. Cut here and not by clipping, which SVG writers leave out.
void MaskDrawing::paint_part(QPainter& painter, const QRectF& rect, DifferencePart part) const {
  const QColor own = difference_color(part, page_.theme);
  const QColor paper = colors_of(page_.theme).background;
  painter.fillRect(rect, own);
  const int way = hatch_of(part);
  if (way == 0) return;
  const double period = 1.4 * hatch_period * page_.em;
  const QColor line((own.red() + paper.red()) / 2, (own.green() + paper.green()) / 2,
                    (own.blue() + paper.blue()) / 2);
  painter.setPen(QPen(line, 0.2 * period, Qt::SolidLine, Qt::FlatCap));
  const double upper = way > 0 ? rect.top() : -rect.bottom();
  const double lower = way > 0 ? rect.bottom() : -rect.top();
  const double first = std::ceil((rect.left() + upper) / period) * period;
  for (double sum = first; sum < rect.right() + lower; sum += period) {
    const double left = std::max(rect.left(), sum - lower);
    const double right = std::min(rect.right(), sum - upper);
    painter.drawLine(QPointF(left, way * (sum - left)), QPointF(right, way * (sum - right)));
  }
  painter.setPen(Qt::NoPen);
}

void MaskDrawing::paint_frame(QPainter& painter) const {
  const ThemeColors& colors = colors_of(page_.theme);
  const double em = page_.em;
  paint_cell_lines(painter);
  paint_margin(painter, Side::rows);
  paint_margin(painter, Side::columns);
  if (style_ == MaskStyle::equal_groups) paint_breaks(painter);
  if (page_.names) {
    paint_group_names(painter, Side::rows);
    paint_group_names(painter, Side::columns);
  }
  if (page_.legend) paint_legend(painter);

  painter.setPen(colors.text);
  painter.setFont(figure_font(em, true));
  if (!title_.isEmpty()) painter.drawText(title_rect_, Qt::TextWordWrap, title_);
  if (!page_.names) return;
  painter.setFont(figure_font(em));
  painter.setPen(colors.faint_text);
  const double caption_top = cells_.top() - (1.5 + 1.5 + 0.8 + 0.35) * em - strip_;
  painter.drawText(QRectF(cells_.left(), caption_top, cells_.width(), 1.4 * em),
                   Qt::AlignHCenter | Qt::AlignTop, QStringLiteral("attended tokens (keys)"));
  painter.save();
  painter.translate(row_caption_left_, cells_.center().y());
  painter.rotate(-90);
  painter.drawText(QRectF(-cells_.height() / 2, 0, cells_.height(), 1.4 * em),
                   Qt::AlignHCenter | Qt::AlignTop, QStringLiteral("attending tokens (queries)"));
  painter.restore();
  painter.setFont(figure_font(em * small_text));
  if (!note_.isEmpty()) painter.drawText(note_rect_, Qt::TextWordWrap, note_);
}

// Thin lines in the ground's own colour make boxes of the cells.
void MaskDrawing::paint_cell_lines(QPainter& painter) const {
  const auto paint_side = [&](Side side) {
    for (const MaskBlock& block : axis_.blocks()) {
      if (block.units_per_token < boxed * page_.em) continue;
      const double width = std::min(0.12 * block.units_per_token, 0.12 * page_.em);
      painter.setPen(QPen(colors_of(page_.theme).background, width, Qt::SolidLine, Qt::FlatCap));
      const auto [first, last] = visible_tokens(side, block);
      for (std::int64_t token = first + 1; token < last; ++token) {
        const double at = page_begin(side, token);
        if (side == Side::rows) {
          painter.drawLine(QPointF(cells_.left(), at), QPointF(cells_.right(), at));
        } else {
          painter.drawLine(QPointF(at, cells_.top()), QPointF(at, cells_.bottom()));
        }
      }
    }
  };
  paint_side(Side::rows);
  paint_side(Side::columns);
}

void MaskDrawing::paint_margin_run(QPainter& painter, Side side, double begin, double end,
                                   TokenGroup group) const {
  const double first = side == Side::rows ? cells_.top() : cells_.left();
  begin = std::max(begin, first);
  end = std::min(end, first + axis_.length());
  if (begin >= end) return;
  const double away = strip_ + 0.35 * page_.em;
  const QRectF rect = side == Side::rows ? QRectF(cells_.left() - away, begin, strip_, end - begin)
                                         : QRectF(begin, cells_.top() - away, end - begin, strip_);
  painter.fillRect(rect, margin_color(group, page_.theme));
}

void MaskDrawing::paint_margin(QPainter& painter, Side side) const {
  const double least = hair * page_.em;
  for (const MaskBlock& block : axis_.blocks()) {
    const auto [first, last] = visible_tokens(side, block);
    if (first >= last) continue;
    const double extent = block.units_per_token;
    const bool boxes = extent >= boxed * page_.em;
    const double inset = boxes ? 0.05 * extent : 0;
    if (boxes) {
      for (std::int64_t token = first; token < last; ++token) {
        const double at = page_begin(side, token);
        paint_margin_run(painter, side, at + inset, at + extent - inset, problem_.group_of(token));
      }
      continue;
    }
    const double begin = page_begin(side, first);
    const auto count = static_cast<double>(last - first);
    paint_margin_run(painter, side, begin, begin + extent * count, block.group);
    if (block.group != TokenGroup::document) continue;
    double drawn = -1e9;  // sentence starts closer than a hair are one mark
    for (std::int64_t s = problem_.next_sentence(first - 1); s < last;
         s = problem_.next_sentence(s)) {
      const double at = page_begin(side, s);
      if (at - drawn < 2 * least) continue;
      drawn = at;
      paint_margin_run(painter, side, at, at + std::max(extent, least), TokenGroup::sentence);
      s += std::max<std::int64_t>(0, static_cast<std::int64_t>(2 * least / extent) - 1);
    }
  }
}

// Two strokes across the margin where the scale changes between groups.
void MaskDrawing::paint_breaks(QPainter& painter) const {
  const double em = page_.em;
  painter.setPen(QPen(colors_of(page_.theme).axis, 1.5 * hair * em));
  const std::vector<MaskBlock>& blocks = axis_.blocks();
  for (std::size_t b = 1; b < blocks.size(); ++b) {
    if (blocks[b].units_per_token == blocks[b - 1].units_per_token) continue;
    const double middle = blocks[b].begin - axis_.gap() / 2;
    const double outside = strip_ + 0.35 * em;
    for (const double shift : {-0.1 * em, 0.1 * em}) {
      const double x = cells_.left() + middle + shift;
      painter.drawLine(QPointF(x - 0.1 * em, cells_.top() - outside + strip_ + 0.15 * em),
                       QPointF(x + 0.1 * em, cells_.top() - outside - 0.15 * em));
      const double y = cells_.top() + middle + shift;
      painter.drawLine(QPointF(cells_.left() - outside - 0.15 * em, y + 0.1 * em),
                       QPointF(cells_.left() - outside + strip_ + 0.15 * em, y - 0.1 * em));
    }
  }
}

void MaskDrawing::paint_group_names(QPainter& painter, Side side) const {
  const double em = page_.em;
  const QFont font = figure_font(em);
  const QFontMetricsF metrics(font);
  const bool rows = side == Side::rows;
  const double first = rows ? cells_.top() : cells_.left();
  std::vector<double> centers;
  std::vector<double> extents;
  std::vector<QString> names;
  for (std::size_t b = 0; b < axis_.blocks().size(); ++b) {
    const auto [begin, end] = visible_tokens(side, axis_.blocks()[b]);
    if (begin >= end) continue;
    const double from = std::max(0.0, page_begin(side, begin) - first);
    const double to = std::min(
        axis_.length(), page_begin(side, end - 1) + axis_.blocks()[b].units_per_token - first);
    centers.push_back((from + to) / 2);
    extents.push_back(rows ? 1.25 * em : metrics.horizontalAdvance(names_[b]) + 0.8 * em);
    names.push_back(names_[b]);
  }
  const std::vector<double> placed = spread(centers, extents, axis_.length());
  const ThemeColors& colors = colors_of(page_.theme);
  painter.setFont(font);
  const double strip = strip_ + 0.35 * em;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double at = first + placed[i];
    if (rows) {
      const double right = cells_.left() - strip - 0.9 * em;
      painter.setPen(colors.text);
      painter.drawText(QRectF(right - 40 * em, at - em, 40 * em, 2 * em),
                       Qt::AlignRight | Qt::AlignVCenter, names[i]);
      painter.setPen(QPen(colors.axis, hair * em));
      painter.drawLine(QPointF(right + 0.15 * em, at),
                       QPointF(right + 0.75 * em, first + centers[i]));
    } else {
      const double bottom = cells_.top() - strip - 0.8 * em;
      painter.setPen(colors.text);
      painter.drawText(QRectF(at - extents[i], bottom - 1.5 * em, 2 * extents[i], 1.5 * em),
                       Qt::AlignHCenter | Qt::AlignBottom, names[i]);
      painter.setPen(QPen(colors.axis, hair * em));
      painter.drawLine(QPointF(at, bottom + 0.05 * em),
                       QPointF(first + centers[i], bottom + 0.65 * em));
    }
  }
}

// The pattern's own table: who (row) sees whom (column), in the cells' colours.
void MaskDrawing::paint_legend(QPainter& painter) const {
  const ThemeColors& colors = colors_of(page_.theme);
  const double em = page_.em;
  painter.setFont(figure_font(em));
  for (const LegendHeading& heading : headings_) {
    painter.setPen(heading.faint ? colors.faint_text : colors.text);
    painter.drawText(heading.rect, Qt::AlignLeft | Qt::AlignVCenter, heading.text);
  }
  for (const PartEntry& entry : parts_) {
    if (entry.part) {
      paint_part(painter, entry.box, *entry.part);
    } else {
      painter.fillRect(entry.box, ground_color(page_.theme));
    }
  }
  for (const MaskLegendEntry& entry : legend_) {
    const QRectF box(entry.rect.left(), entry.rect.center().y() - 0.45 * em, 0.9 * em, 0.9 * em);
    painter.fillRect(box, entry.allowed ? pair_color(entry.from, entry.to, page_.theme)
                                        : ground_color(page_.theme));
    if (entry.note.isEmpty()) continue;
    painter.setPen(colors.text);
    painter.drawText(entry.rect.adjusted(1.2 * em, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter,
                     entry.note);
  }
}

}  // namespace attnscope::charts
