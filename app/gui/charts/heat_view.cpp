// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/heat_view.h"

#include <QFontMetricsF>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <utility>

#include "app/gui/charts/figure_font.h"

namespace attnscope::charts {
namespace {

constexpr double pad_em = 0.3;
constexpr double text_room = 4.5, least_side = 27;  // in em: for tokens; smallest page with tokens
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

/// Whether the map of all tokens has sufficient resolution for the region.
bool suffices(const PooledMap& map, const MapRegion& region) {
  const auto cells_a_token = [](std::int64_t cells, TokenRange range) {
    return static_cast<double>(cells) / static_cast<double>(range.size());
  };
  return cells_a_token(map.region().width, map.region().columns) >=
         cells_a_token(region.width, region.columns) * (1 - 1e-9);
}

TokenRange between(std::pair<qint64, qint64> rows) {
  return {std::min(rows.first, rows.second), std::max(rows.first, rows.second) + 1};
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

// Paints the axis' tokens as a strip of group colours, and their texts.
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
    const double size = std::max(to - from, 1.0);  // so that [CLS] among thousands is visible
    const QPointF corner = square_.rect.topLeft();
    painter.fillRect(lying ? QRectF(corner.x() + from, corner.y() - strip_away(), size, strip_)
                           : QRectF(corner.x() - strip_away(), corner.y() + from, strip_, size),
                     margin_color(group, page_.theme));
    i = next;
  }
  if (room_ > 0) paint_texts(painter, along, first);
}

// Texts beside rows end at the strip; texts above columns begin there and are read upwards. Where
// letters would touch, every second or third token is shown; beyond that, positions counted from 0.
void HeatDrawing::paint_texts(QPainter& painter, Qt::Orientation along, double first) const {
  const double letters = small_text * page_.em, length = room_ - 0.3 * letters;
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

HeatView::HeatView(QWidget* parent) : MapView(tr("Attention weights"), parent) {
  connect(&refiner_, &LatestJob::failed, this, &HeatView::show_message);
}

void HeatView::show_weights(std::shared_ptr<const WeightRows> weights,
                            std::shared_ptr<const HeadSummary> summary,
                            std::shared_ptr<const std::vector<TokenGroup>> groups) {
  if (along_.groups != groups) {
    forget_focus();
    chosen_rows_.clear();
  }
  weights_ = std::move(weights);
  summary_ = std::move(summary);
  along_.groups = std::move(groups);
  setAccessibleDescription(tr("%1 tokens; rows attend to columns").arg(tokens()));
  message_ = tr("Computing the weights.");
  hover(std::nullopt);
  invalidate();
  if (pinned_pair() && !is_pair(*pinned_pair())) pin(-1, -1);
}

void HeatView::set_token_texts(std::shared_ptr<const std::vector<std::string>> tokens) {
  along_.texts = std::move(tokens);
  invalidate();
}

void HeatView::show_message(const QString& message) {
  refiner_.drop();
  weights_.reset();
  summary_.reset();
  cells_ = QImage();
  message_ = message;
  setAccessibleDescription(message);
  hover(std::nullopt);
  update();
}

void HeatView::set_title(const QString& title) {
  if (title == title_) return;
  title_ = title;
  setAccessibleName(title.isEmpty() ? tr("Attention weights")
                                    : tr("Attention weights, %1").arg(title));
  invalidate();
}

void HeatView::set_scale(const HeatScale& scale) {
  if (scale == scale_) return;
  scale_ = scale;
  invalidate();
}

void HeatView::set_chosen_rows(const std::vector<TokenRange>& rows) {
  chosen_rows_ = rows;
  update();
}

void HeatView::set_marked(qint64 column) {
  if (marked_ == column) return;
  marked_ = column;
  update();
}

const HeatDrawing& HeatView::drawing() const {
  if (!drawing_) {
    drawing_.emplace(along_, focus(),
                     HeatDrawing::Page{QSizeF(size()), em_of(*this), theme(), title_});
  }
  return *drawing_;
}

void HeatView::invalidate() {
  drawing_.reset();
  update();
  if (!weights_ || !isVisible()) return;
  refiner_.start([this, weights = weights_, summary = summary_, scale = scale_, theme = theme(),
                  region = drawing().region(devicePixelRatioF())](const LatestJob::Token& token) {
    const std::optional<PooledMap> map =
        suffices(summary->map, region)
            ? std::optional(summary->map.pooled(region))
            : pool_region(*weights, region, [&] { return token.superseded(); });
    if (!map) return;
    token.deliver([this, region, image = heat_image(*map, scale, theme)] {
      cells_ = image;
      region_ = region;
      update();
      Q_EMIT settled();
    });
  });
}

void HeatView::showEvent(QShowEvent* event) {
  MapView::showEvent(event);
  invalidate();
}

void HeatView::paint_map(QPainter& painter) {
  painter.fillRect(rect(), colors_of(theme()).background);
  drawing().paint(painter, cells_, region_);
  const QRectF& map = square().rect;
  const QRectF margin = row_margin();
  painter.save();
  painter.setClipRect(map.adjusted(-margin.width(), -margin.width(), 1, 1));
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(colors_of(theme()).selected, 2));
  const std::vector<TokenRange> band =
      band_ ? std::vector<TokenRange>{between(*band_)} : chosen_rows_;
  for (const TokenRange& rows : band) painter.drawRect(drawing().rows_rect(rows));
  if (marked_ >= 0) {
    const double x = square().cell(0, marked_).center().x();
    painter.setPen(QPen(colors_of(theme()).selected, 1));
    if (x >= map.left()) painter.drawLine(QPointF(x, map.top()), QPointF(x, map.bottom()));
  }
  painter.restore();
}

QSize HeatView::sizeHint() const {
  const int em = static_cast<int>(em_of(*this));
  return {36 * em, 36 * em};
}

// In points, not in letters: large text must not reduce the map. Three maps fit between the two
// sides of a page in a window of 1000 points.
QSize HeatView::minimumSizeHint() const {
  return {90, 110};
}

qint64 HeatView::row_at(double y) const {
  const QRectF& map = square().rect;
  const double inside = std::clamp(y, map.top(), map.bottom() - 0.01);
  return pair_at({map.left() + 1, inside}).value_or(Pair(0, 0)).first;
}

void HeatView::mousePressEvent(QMouseEvent* event) {
  const bool on_margin =
      has_map() && event->button() == Qt::LeftButton && row_margin().contains(event->position());
  if (!on_margin) return MapView::mousePressEvent(event);
  const qint64 row = row_at(event->position().y());
  band_ = {row, row};
  update();
}

void HeatView::mouseMoveEvent(QMouseEvent* event) {
  if (!band_ || !has_map()) return MapView::mouseMoveEvent(event);
  band_->second = row_at(event->position().y());
  update();
}

void HeatView::mouseReleaseEvent(QMouseEvent* event) {
  if (!band_) return MapView::mouseReleaseEvent(event);
  const TokenRange rows = between(*std::exchange(band_, std::nullopt));
  update();
  Q_EMIT rows_chosen(rows);
}

HeatBar::HeatBar(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  set_scale({});
}

void HeatBar::set_scale(const HeatScale& scale) {
  scale_ = scale;
  setAccessibleName(scale.difference ? tr("Colours of differences") : tr("Colours of weights"));
  setAccessibleDescription(tr("%1 to %2, %3")
                               .arg(weight_words(scale.value(0)), weight_words(scale.value(1)),
                                    scale.logarithmic ? tr("logarithmic") : tr("linear")));
  setToolTip(scale.difference ? tr("Weight under B minus weight under A")
                              : tr("Attention weight; of pairs that share a pixel, the largest"));
  update();
}

QSize HeatBar::sizeHint() const {
  return {12 * fontMetrics().averageCharWidth(), (5 * fontMetrics().height()) / 2};
}

QSize HeatBar::minimumSizeHint() const {
  return {9 * fontMetrics().averageCharWidth(), sizeHint().height()};
}

void HeatBar::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  painter.setFont(figure_font(QFontInfo(font()).pixelSize()));
  const double line = fontMetrics().height();
  paint_color_bar(painter, QRectF(1, 1, width() - 2, 0.7 * line), scale_, theme_of(palette()));
}

}  // namespace attnscope::charts
