// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/heat_image.h"

#include <QFontMetricsF>
#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "app/gui/charts/mask_colors.h"

namespace attnscope::charts {
namespace {

/// position() for every cell would take a logarithm each: the scale is read off a table of the
/// magnitudes' leading bits instead, 1/64 apart.
class StepTable {
 public:
  explicit StepTable(const HeatScale& scale) : scale_(scale), steps_(entries) {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const auto bits = static_cast<std::uint32_t>(i << dropped_bits);
      const auto value = static_cast<double>(std::bit_cast<float>(bits));
      steps_[i] = std::isfinite(value) ? scale.position(value) : scale.position(scale.largest);
    }
  }
  [[nodiscard]] int step(float value) const {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(std::abs(value));
    const double at = steps_[bits >> dropped_bits];
    const double side = value < 0 && scale_.difference ? 1 - at : at;
    return static_cast<int>(std::lround(side * (heat_steps - 1)));
  }

 private:
  static constexpr unsigned dropped_bits = 16;
  static constexpr std::size_t entries = std::size_t{1} << (31U - dropped_bits);
  HeatScale scale_;
  std::vector<double> steps_;
};

}  // namespace

QImage heat_image(const PooledMap& map, const HeatScale& scale, ChartTheme theme) {
  const MapRegion& region = map.region();
  QImage image(static_cast<int>(region.width), static_cast<int>(region.height),
               QImage::Format_RGB32);
  if (image.isNull()) return image;
  const HeatRamp& ramp = scale.difference ? difference_ramp(theme) : weight_ramp(theme);
  const QRgb not_allowed = not_allowed_color(theme).rgb();
  const StepTable table(scale);
  for (std::int64_t y = 0; y < region.height; ++y) {
    auto* line = reinterpret_cast<QRgb*>(image.scanLine(static_cast<int>(y)));
    for (std::int64_t x = 0; x < region.width; ++x) {
      const float value = map.cell(y, x);
      line[x] = std::isnan(value) ? not_allowed : ramp[static_cast<std::size_t>(table.step(value))];
    }
  }
  return image;
}

QString weight_words(double value) {
  if (value == 0) return QStringLiteral("0");
  const double size = std::abs(value);
  if (size < 0.001) {
    return QString::number(value, 'e', 0).replace(QLatin1String("e-0"), QLatin1String("e-"));
  }
  return QString::number(value, 'g', 2);
}

double color_bar_text_height(const QPainter& painter) {
  return QFontMetricsF(painter.font(), painter.device()).height() * 1.2;
}

void paint_color_bar(QPainter& painter, const QRectF& rect, const HeatScale& scale,
                     ChartTheme theme) {
  const HeatRamp& ramp = scale.difference ? difference_ramp(theme) : weight_ramp(theme);
  QImage image(heat_steps, 1, QImage::Format_RGB32);
  auto* line = reinterpret_cast<QRgb*>(image.scanLine(0));
  std::copy(ramp.begin(), ramp.end(), line);
  painter.save();
  painter.drawImage(rect, image);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(colors_of(theme).axis, rect.height() / 16));
  painter.drawRect(rect);
  painter.setPen(colors_of(theme).text);
  const double height = color_bar_text_height(painter);
  const QFontMetricsF metrics(painter.font(), painter.device());
  const bool whole_decades = scale.logarithmic && !scale.difference;
  const int ticks = whole_decades ? static_cast<int>(HeatScale::decades) : 2;
  for (int tick = 0; tick <= ticks; ++tick) {
    const double at = static_cast<double>(tick) / ticks;
    QString text = weight_words(scale.difference && tick == 1 ? 0 : scale.value(at));
    if (whole_decades && tick == 0) text.prepend(QStringLiteral("≤ "));
    const double width = metrics.horizontalAdvance(text) + 1;
    const double center = rect.left() + at * rect.width();
    const double left = std::clamp(center - width / 2, rect.left(), rect.right() - width);
    painter.drawText(QRectF(left, rect.bottom() + height * 0.1, width, height * 0.9),
                     Qt::AlignHCenter | Qt::AlignTop, text);
  }
  painter.restore();
}

void paint_token_strip(QPainter& painter, const QRectF& strip, Qt::Orientation along,
                       std::span<const TokenGroup> groups, double first, double extent,
                       ChartTheme theme) {
  if (groups.empty() || extent <= 0) return;
  const bool lying = along == Qt::Horizontal;
  const double length = lying ? strip.width() : strip.height();
  const auto tokens = static_cast<std::int64_t>(groups.size());
  const auto begin =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(first)), 0, tokens);
  const auto end =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(first + extent)), begin, tokens);
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing, false);
  painter.setClipRect(strip, Qt::IntersectClip);
  for (std::int64_t i = begin; i < end;) {
    const TokenGroup group = groups[static_cast<std::size_t>(i)];
    std::int64_t next = i + 1;
    while (next < end && groups[static_cast<std::size_t>(next)] == group) ++next;
    const double from = (static_cast<double>(i) - first) / extent * length;
    const double to = (static_cast<double>(next) - first) / extent * length;
    // [CLS] among thousands would be less than a pixel.
    const double size = std::max(to - from, 1.0);
    painter.fillRect(lying ? QRectF(strip.left() + from, strip.top(), size, strip.height())
                           : QRectF(strip.left(), strip.top() + from, strip.width(), size),
                     margin_color(group, theme));
    i = next;
  }
  painter.restore();
}

}  // namespace attnscope::charts
