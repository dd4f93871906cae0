// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/heat_drawing.h"

#include <QFontMetricsF>
#include <algorithm>
#include <cmath>
#include <utility>

#include "app/gui/charts/figure_font.h"
#include "app/gui/charts/mask_colors.h"

namespace attnscope::charts {
namespace {

constexpr double pad_em = 0.3;
constexpr double text_room = 4.5, least_side = 27;  // of em: for tokens, of a page that has them
constexpr int longest_text = 14;

double units_per_token(const MapAxis& axis) {
  return axis.blocks().front().units_per_token;
}

TokenRange tokens_between(double first, double extent, std::int64_t tokens) {
  const auto begin =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(first)), 0, tokens - 1);
  return {begin, std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(first + extent)),
                                          begin + 1, tokens)};
}

/// Without what would break a line, and short.
QString label_of(const std::string& token) {
  const QString label = QString::fromStdString(token).simplified();
  return label.size() > longest_text ? label.left(longest_text - 1) + QChar(0x2026) : label;
}

}  // namespace

HeatDrawing::HeatDrawing(HeatTokens tokens, const MapFocus& focus, Page page)
    : tokens_(std::move(tokens)), page_(std::move(page)) {
  const double em = page_.em, pad = pad_em * em;
  const double width = page_.size.width(), height = page_.size.height();
  const bool texts = tokens_.texts && tokens_.texts->size() == tokens_.groups->size() &&
                     std::min(width, height) >= least_side * em;
  strip_ = std::round(0.55 * em);
  room_ = texts ? std::round(text_room * em) : 0;
  const double top = std::round((page_.title.isEmpty() ? pad_em : 1.7) * em + strip_away() + room_);
  const double left = std::round(pad + strip_away() + room_);
  const double side = std::floor(std::max(8.0, std::min(width - left, height - top) - pad));
  const double slack = std::max(0.0, std::floor((width - left - pad - side) / 2));
  square_.rect = {left + slack, top, side, side};
  MapBlock all;
  all.tokens = {0, static_cast<std::int64_t>(tokens_.groups->size())};
  square_.axis = MapAxis({all}, side, 0, focus);
}

double HeatDrawing::needed_height() const {
  return square_.rect.bottom() + pad_em * page_.em;
}

MapRegion HeatDrawing::region(double pixels_per_unit) const {
  const MapAxis& axis = square_.axis;
  const double scale = units_per_token(axis), extent = axis.length() / scale;
  const auto cells = [&](TokenRange range) {
    const double wanted = static_cast<double>(range.size()) * scale * pixels_per_unit;
    return std::clamp<std::int64_t>(std::llround(wanted), 1, range.size());
  };
  MapRegion region;
  region.rows = tokens_between(axis.row_scroll() / scale, extent, axis.tokens());
  region.columns = tokens_between(axis.column_scroll() / scale, extent, axis.tokens());
  region.height = cells(region.rows);
  region.width = cells(region.columns);
  return region;
}

MapRegion HeatDrawing::whole_tokens() const {
  const MapAxis& axis = square_.axis;
  const double scale = units_per_token(axis);
  const auto count =
      std::clamp<std::int64_t>(std::llround(axis.length() / scale), 1, axis.tokens());
  const auto range = [&](double scroll) {
    const auto begin =
        std::clamp<std::int64_t>(std::llround(scroll / scale), 0, axis.tokens() - count);
    return TokenRange{begin, begin + count};
  };
  return {.rows = range(axis.row_scroll()),
          .columns = range(axis.column_scroll()),
          .height = count,
          .width = count};
}

QRectF HeatDrawing::rows_rect(TokenRange rows) const {
  const double top = square_.row_begin(rows.begin);
  return {square_.rect.left(), top, square_.rect.width(), square_.row_begin(rows.end) - top};
}

QRectF HeatDrawing::row_margin() const {
  const double width = strip_away() + room_;
  return {square_.rect.left() - width, square_.rect.top(), width, square_.rect.height()};
}

void HeatDrawing::paint(QPainter& painter, const QImage& image, const MapRegion& region) const {
  const ThemeColors& colors = colors_of(page_.theme);
  if (!page_.title.isEmpty()) {
    painter.setFont(figure_font(page_.em, true));
    painter.setPen(colors.text);
    const QRectF line(row_margin().left(), 0.15 * page_.em,
                      square_.rect.right() - row_margin().left(), 1.5 * page_.em);
    painter.drawText(
        line, Qt::AlignLeft | Qt::AlignVCenter,
        QFontMetricsF(painter.font()).elidedText(page_.title, Qt::ElideRight, line.width()));
  }
  const QRectF columns(square_.column_begin(region.columns.begin), 0,
                       units_per_token(square_.axis) * static_cast<double>(region.columns.size()),
                       0);
  const QRectF rows = rows_rect(region.rows);
  painter.save();
  painter.setClipRect(square_.rect);
  painter.drawImage(QRectF(columns.left(), rows.top(), columns.width(), rows.height()), image);
  painter.restore();
  paint_side(painter, Qt::Horizontal);
  paint_side(painter, Qt::Vertical);
}

// The axis' tokens as a strip of group colours, and their texts.
void HeatDrawing::paint_side(QPainter& painter, Qt::Orientation along) const {
  const MapAxis& axis = square_.axis;
  const bool lying = along == Qt::Horizontal;
  const double scale = units_per_token(axis), length = axis.length();
  const double first = (lying ? axis.column_scroll() : axis.row_scroll()) / scale;
  const TokenRange seen = tokens_between(first, length / scale, axis.tokens());
  const std::vector<TokenGroup>& groups = *tokens_.groups;
  painter.setRenderHint(QPainter::Antialiasing, false);
  for (std::int64_t i = seen.begin; i < seen.end;) {
    const TokenGroup group = groups[static_cast<std::size_t>(i)];
    std::int64_t next = i + 1;
    while (next < seen.end && groups[static_cast<std::size_t>(next)] == group) ++next;
    const double from = std::max(0.0, (static_cast<double>(i) - first) * scale);
    const double to = std::min(length, (static_cast<double>(next) - first) * scale);
    const double size = std::max(to - from, 1.0);  // [CLS] among thousands would be less than that
    const QPointF corner = square_.rect.topLeft();
    painter.fillRect(lying ? QRectF(corner.x() + from, corner.y() - strip_away(), size, strip_)
                           : QRectF(corner.x() - strip_away(), corner.y() + from, strip_, size),
                     margin_color(group, page_.theme));
    i = next;
  }
  if (room_ > 0) paint_texts(painter, along, first);
}

// Beside rows they end at the strip, above columns they begin there and are read from below. Where
// letters would touch, every second, third ... token is written.
void HeatDrawing::paint_texts(QPainter& painter, Qt::Orientation along, double first) const {
  const double letters = small_text * page_.em, length = room_ - 0.3 * letters;
  const double scale = units_per_token(square_.axis);
  const auto step = std::max<std::int64_t>(1, std::llround(std::ceil(1.1 * letters / scale)));
  const auto end =
      std::min(static_cast<double>(tokens_.texts->size()), first + square_.axis.length() / scale);
  painter.save();
  painter.setFont(figure_font(letters));
  painter.setPen(colors_of(page_.theme).text);
  const QFontMetricsF metrics(painter.font());
  // The same tokens are written while the map is moved.
  auto at = static_cast<std::int64_t>(std::ceil(first / static_cast<double>(step))) * step;
  for (; static_cast<double>(at) + 0.5 < end; at += step) {
    const QString label = metrics.elidedText(
        label_of((*tokens_.texts)[static_cast<std::size_t>(at)]), Qt::ElideRight, length);
    const double middle = (static_cast<double>(at) + 0.5 - first) * scale;
    const bool lying = along == Qt::Horizontal;
    painter.save();
    if (lying) {
      painter.translate(square_.rect.left() + middle,
                        square_.rect.top() - strip_away() - 0.3 * letters);
      painter.rotate(-90);
    } else {
      painter.translate(square_.rect.left() - strip_away() - room_, square_.rect.top() + middle);
    }
    painter.drawText(QRectF(0, -letters, length, 2 * letters),
                     Qt::AlignVCenter | (lying ? Qt::AlignLeft : Qt::AlignRight), label);
    painter.restore();
  }
  painter.restore();
}

}  // namespace attnscope::charts
