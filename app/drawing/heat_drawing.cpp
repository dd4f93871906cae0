// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/drawing/heat_drawing.h"

#include <QFontMetricsF>
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "app/drawing/chart_style.h"

namespace attnscope::charts {
namespace {

constexpr double pad_em = 0.3;
constexpr double text_space_em = 4.5,
                 least_side = 27;  // in em: for tokens; smallest page with tokens
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

/// The smallest of 5, 10, 20, 50, 100 ... that is at least `least`.
std::int64_t round_step(std::int64_t least) {
  std::int64_t step = 5;
  for (int i = 0; step < least; ++i) step = i % 3 == 1 ? step / 2 * 5 : step * 2;
  return step;
}

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
  text_space_ = texts ? std::round(text_space_em * em) : 0;
  const double top =
      std::round((page_.title.isEmpty() ? pad_em : 1.7) * em + strip_distance() + text_space_);
  const double left = std::round(pad + strip_distance() + text_space_);
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
  const double width = strip_distance() + text_space_;
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

// Paints the tokens of the axis as a strip of group colours, and their texts.
void HeatDrawing::paint_side(QPainter& painter, Qt::Orientation along) const {
  const MapAxis& axis = square_.axis;
  const bool horizontal = along == Qt::Horizontal;
  const double scale = units_per_token(axis), length = axis.length();
  const double first = (horizontal ? axis.column_scroll() : axis.row_scroll()) / scale;
  const TokenRange seen = tokens_between(first, length / scale, axis.tokens());
  const std::vector<TokenGroup>& groups = *tokens_.groups;
  painter.setRenderHint(QPainter::Antialiasing, false);
  for (std::int64_t i = seen.begin; i < seen.end;) {
    const TokenGroup group = groups[static_cast<std::size_t>(i)];
    std::int64_t next = i + 1;
    while (next < seen.end && groups[static_cast<std::size_t>(next)] == group) ++next;
    const double from = std::max(0.0, (static_cast<double>(i) - first) * scale);
    const double to = std::min(length, (static_cast<double>(next) - first) * scale);
    const double size = std::max(to - from, 1.0);  // so that [CLS] among thousands is visible
    const QPointF corner = square_.rect.topLeft();
    painter.fillRect(horizontal
                         ? QRectF(corner.x() + from, corner.y() - strip_distance(), size, strip_)
                         : QRectF(corner.x() - strip_distance(), corner.y() + from, strip_, size),
                     margin_color(group, page_.theme));
    i = next;
  }
  if (text_space_ > 0) paint_texts(painter, along, first);
}

// Texts next to rows end at the strip; texts above columns start there and are read upwards. Where
// letters would touch, every second or third token is shown; beyond that, positions counted from 0.
void HeatDrawing::paint_texts(QPainter& painter, Qt::Orientation along, double first) const {
  const double letters = small_text * page_.em, length = text_space_ - 0.3 * letters;
  const double scale = units_per_token(square_.axis);
  constexpr std::int64_t most_left_out = 2;  // with more, the texts would read like continuous text
  const auto least = std::max<std::int64_t>(1, std::llround(std::ceil(1.1 * letters / scale)));
  const bool by_number = least > most_left_out + 1;
  const std::int64_t step = by_number ? round_step(least) : least;
  const auto end =
      std::min(static_cast<double>(tokens_.texts->size()), first + square_.axis.length() / scale);
  painter.save();
  painter.setFont(figure_font(letters));
  painter.setPen(colors_of(page_.theme).text);
  const QFontMetricsF metrics(painter.font());
  // The same tokens are labelled while the map moves.
  auto at = static_cast<std::int64_t>(std::ceil(first / static_cast<double>(step))) * step;
  for (; static_cast<double>(at) + 0.5 < end; at += step) {
    const QString label = metrics.elidedText(
        by_number ? QString::number(at) : label_of((*tokens_.texts)[static_cast<std::size_t>(at)]),
        Qt::ElideRight, length);
    const double middle = (static_cast<double>(at) + 0.5 - first) * scale;
    const bool horizontal = along == Qt::Horizontal;
    painter.save();
    if (horizontal) {
      painter.translate(square_.rect.left() + middle,
                        square_.rect.top() - strip_distance() - 0.3 * letters);
      painter.rotate(-90);
    } else {
      painter.translate(square_.rect.left() - strip_distance() - text_space_,
                        square_.rect.top() + middle);
    }
    painter.drawText(QRectF(0, -letters, length, 2 * letters),
                     Qt::AlignVCenter | (horizontal ? Qt::AlignLeft : Qt::AlignRight), label);
    painter.restore();
  }
  painter.restore();
}

QString weight_words(double value) {
  if (value == 0) return QStringLiteral("0");
  const double size = std::abs(value);
  if (size < 0.001) {
    return QString::number(value, 'e', 0).replace(QLatin1String("e-0"), QLatin1String("e-"));
  }
  return QString::number(value, 'g', 2);
}

void paint_color_bar(QPainter& painter, const QRectF& rect, const HeatScale& scale,
                     ChartTheme theme) {
  QImage image(heat_steps, 1, QImage::Format_RGB32);
  for (int step = 0; step < heat_steps; ++step) {
    image.setPixelColor(step, 0, heat_color(scale.value(step / (heat_steps - 1.0)), scale, theme));
  }
  painter.save();
  painter.drawImage(rect, image);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(colors_of(theme).axis, rect.height() / 16));
  painter.drawRect(rect);
  painter.setPen(colors_of(theme).text);
  const QFontMetricsF metrics(painter.font(), painter.device());
  const double height = metrics.height() * 1.2;
  const bool whole_decades = scale.logarithmic && !scale.difference;
  const int ticks = whole_decades ? static_cast<int>(HeatScale::decades) : 2;
  for (int tick = 0; tick <= ticks; ++tick) {
    const double at = static_cast<double>(tick) / ticks;
    QString text = with_minus(weight_words(scale.difference && tick == 1 ? 0 : scale.value(at)));
    if (whole_decades && tick == 0) text.prepend(QStringLiteral("≤ "));
    const double width = metrics.horizontalAdvance(text) + 1;
    const double center = rect.left() + at * rect.width();
    const double left = std::clamp(center - width / 2, rect.left(), rect.right() - width);
    painter.drawText(QRectF(left, rect.bottom() + height * 0.1, width, height * 0.9),
                     Qt::AlignHCenter | Qt::AlignTop, text);
  }
  painter.restore();
}

namespace {

/// Maps side by side; lengths are in page units and follow from the width and the font.
class HeatPage {
 public:
  HeatPage(std::shared_ptr<const HeatFigure> figure, const FigureOptions& options)
      : figure_(std::move(figure)),
        em_(options.font_pt * units_per_point),
        width_(units_of_mm(options.width_mm)),
        caption_(QString::fromStdString(options.caption)) {
    const auto count = static_cast<double>(figure_->panels.size());
    step_ = (width_ + 0.8 * em_) / count;
    const QSizeF page(step_ - 0.8 * em_, unbounded);
    const HeatTokens along{std::make_shared<const std::vector<TokenGroup>>(figure_->groups),
                           figure_->tokens.empty()
                               ? nullptr
                               : std::make_shared<const std::vector<std::string>>(figure_->tokens)};
    for (const HeatPanel& panel : figure_->panels) {
      maps_.emplace_back(
          along, focus_on(panel.map.region()),
          HeatDrawing::Page{page, em_, ChartTheme::light, options.title ? panel.title : QString()});
    }
    bars_ = maps_.front().needed_height() + 0.4 * em_;
    legend_ = bars_ + 2.8 * em_;
    below_ = legend_ + 1.5 * em_;
  }

  [[nodiscard]] double narrowest_map() const { return maps_.front().square().rect.width() / em_; }

  [[nodiscard]] QSizeF size() const {
    if (caption_.isEmpty()) return {width_, below_};
    const QRectF room(0, 0, width_, unbounded);
    const double lines = QFontMetricsF(figure_font(em_ * small_text))
                             .boundingRect(room, Qt::TextWordWrap, caption_)
                             .height();
    return {width_, below_ + 1.1 * lines + 0.6 * em_};
  }

  void paint(QPainter& painter) const {
    painter.fillRect(QRectF({0, 0}, size()), Qt::white);
    for (std::size_t panel = 0; panel < maps_.size(); ++panel) {
      painter.save();
      painter.translate(step_ * static_cast<double>(panel), 0);
      paint_map(painter, figure_->panels[panel], maps_[panel]);
      painter.restore();
    }
    painter.setFont(figure_font(em_ * small_text));
    paint_bars(painter);
    paint_legend(painter);
    painter.setPen(colors_of(ChartTheme::light).faint_text);
    painter.drawText(QRectF(0, below_ + 0.4 * em_, width_, size().height() - below_),
                     Qt::TextWordWrap, caption_);
  }

 private:
  /// A region with as many rows as columns.
  [[nodiscard]] MapFocus focus_on(const MapRegion& region) const {
    if (region.rows.size() == static_cast<std::int64_t>(figure_->groups.size())) return {};
    const auto middle = [](TokenRange range) {
      return AxisPlace{.tokens = static_cast<double>(range.begin + range.end) / 2};
    };
    return {.tokens = static_cast<double>(region.rows.size()),
            .row = middle(region.rows),
            .column = middle(region.columns)};
  }

  static void paint_map(QPainter& painter, const HeatPanel& panel, const HeatDrawing& map) {
    // Printers smooth small images: enlarge each cell to pixels here, so that it stays sharp.
    QImage image = heat_image(panel.map, panel.scale, ChartTheme::light);
    const int dots =
        static_cast<int>(map.square().rect.width() * dots_per_unit(image_dpi_in_vectors));
    const int times = std::max(1, dots / std::max(1, image.width()));
    image = image.scaled(image.width() * times, image.height() * times);
    map.paint(painter, image, panel.map.region());
  }

  /// Paints one bar below each run of neighbours with the same scale.
  void paint_bars(QPainter& painter) const {
    for (std::size_t first = 0; first < maps_.size();) {
      std::size_t last = first;
      const HeatScale& scale = figure_->panels[first].scale;
      while (last + 1 < maps_.size() && figure_->panels[last + 1].scale == scale) ++last;
      const double left = step_ * static_cast<double>(first) + maps_[first].square().rect.left();
      const double right = step_ * static_cast<double>(last) + maps_[last].square().rect.right();
      paint_color_bar(painter, {left, bars_, right - left, 0.7 * em_}, scale, ChartTheme::light);
      first = last + 1;
    }
  }

  void paint_legend(QPainter& painter) const {
    const QFontMetricsF metrics(painter.font());
    double left = maps_.front().square().rect.left();
    const auto entry = [&](const QColor& color, const QString& text) {
      painter.fillRect(QRectF(left, legend_ + 0.2 * em_, 0.8 * em_, 0.8 * em_), color);
      painter.setPen(colors_of(ChartTheme::light).text);
      const double width = metrics.horizontalAdvance(text) + 1;
      painter.drawText(QRectF(left + 1.1 * em_, legend_, width, 1.2 * em_),
                       Qt::AlignLeft | Qt::AlignVCenter, text);
      left += 1.1 * em_ + width + 1.2 * em_;
    };
    for (const TokenGroup group : token_groups) {
      if (std::ranges::find(figure_->groups, group) == figure_->groups.end()) continue;
      entry(margin_color(group, ChartTheme::light), group_title(group));
    }
    entry(not_allowed_color(ChartTheme::light), QStringLiteral("not allowed"));
  }

  std::shared_ptr<const HeatFigure> figure_;
  double em_, width_;
  QString caption_;
  double step_ = 0;                           // distance between maps
  double bars_ = 0, legend_ = 0, below_ = 0;  // top positions
  std::vector<HeatDrawing> maps_;             // one per panel
};

}  // namespace

Printable printable(HeatFigure figure) {
  const auto shared = std::make_shared<const HeatFigure>(std::move(figure));
  return {.title = shared->title,
          .about = {},
          .provenance = shared->provenance,
          .has_series = false,
          .has_height = false,
          .has_caption = true,
          .lay_out = [shared](const FigureOptions& options, bool /*vectors*/) -> Result<LaidOut> {
            if (shared->panels.empty()) return fail("there are no weights to draw yet");
            const HeatPage page(shared, options);
            if (page.narrowest_map() < 4) {
              return fail(
                  "{} maps do not fit into {} mm at {} pt; use a larger width or a smaller font",
                  shared->panels.size(), options.width_mm, options.font_pt);
            }
            return LaidOut{page.size(), [page](QPainter& painter) { page.paint(painter); }};
          },
          .csv = [shared](const FigureOptions& /*options*/) -> Result<std::string> {
            return shared->numbers;
          }};
}

}  // namespace attnscope::charts
