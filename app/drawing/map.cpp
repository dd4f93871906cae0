// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/drawing/map.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

namespace attnscope::charts {

namespace {

constexpr double most_gap_share = 0.15;  // of the axis, for all gaps of many documents

}  // namespace

MapAxis::MapAxis(std::vector<MapBlock> blocks, double length, double gap, const MapFocus& focus)
    : blocks_(std::move(blocks)), length_(length), gap_(gap) {
  const auto between = static_cast<double>(blocks_.size() - 1);
  if (between > 0) gap_ = std::min(gap, most_gap_share * length / between);
  const double free = std::max(1.0, length - gap_ * between);
  const double fit = free / static_cast<double>(tokens());
  const double wanted = focus.tokens > 0 ? length / focus.tokens : 0;
  double position = 0;
  for (MapBlock& block : blocks_) {
    block.begin = position;
    block.units_per_token = std::max(fit, wanted);
    position = block.end() + gap_;
  }
  total_ = position - gap_;
  const double most = std::max(0.0, total_ - length_);
  if (most == 0 || focus.tokens <= 0) return;
  row_ = std::clamp(position_of(focus.row) - length_ / 2, 0.0, most);
  column_ = std::clamp(position_of(focus.column) - length_ / 2, 0.0, most);
}

MapFocus MapAxis::focus() const {
  return moved(0, 0);
}

MapFocus MapAxis::moved(double down, double right) const {
  if (total_ <= length_ * (1 + 1e-9)) return {};
  const double most = total_ - length_;
  const auto middle = [&](double scroll) {
    return place_at(std::clamp(scroll, 0.0, most) + length_ / 2);
  };
  return {.tokens = length_ / blocks_.front().units_per_token,
          .row = middle(row_ + down),
          .column = middle(column_ + right)};
}

MapFocus MapAxis::enlarged(double units_per_token, double y, double x) const {
  MapFocus next = {.tokens = length_ / units_per_token, .row = {}, .column = {}};
  const MapAxis zoomed(blocks_, length_, gap_, next);
  const auto middle = [&](double scroll, double at) {
    return zoomed.place_at(zoomed.position_of(place_at(scroll + at)) - at + length_ / 2);
  };
  next.row = middle(row_, y);
  next.column = middle(column_, x);
  return MapAxis(blocks_, length_, gap_, next).focus();
}

std::optional<std::int64_t> MapAxis::token_at(double position) const {
  for (const MapBlock& block : blocks_) {
    if (position < block.begin || position >= block.end()) continue;
    const auto index = static_cast<std::int64_t>((position - block.begin) / block.units_per_token);
    return block.tokens.begin + std::min(index, block.tokens.size() - 1);
  }
  return std::nullopt;
}

const MapBlock& MapAxis::block_of(std::int64_t token) const {
  const auto it = std::ranges::find_if(
      blocks_, [token](const MapBlock& block) { return token < block.tokens.end; });
  return it == blocks_.end() ? blocks_.back() : *it;
}

double MapAxis::begin_of(std::int64_t token) const {
  const MapBlock& block = block_of(token);
  return block.begin + block.units_per_token * static_cast<double>(token - block.tokens.begin);
}

double MapAxis::extent_of(std::int64_t token) const {
  return block_of(token).units_per_token;
}

AxisPlace MapAxis::place_at(double position) const {
  std::size_t b = 0;
  while (b + 1 < blocks_.size() && position >= blocks_[b + 1].begin) ++b;
  const double tokens = (position - blocks_[b].begin) / blocks_[b].units_per_token;
  return {b, std::clamp(tokens, 0.0, static_cast<double>(blocks_[b].tokens.size())),
          std::max(0.0, position - blocks_[b].end())};
}

double MapAxis::position_of(const AxisPlace& place) const {
  const MapBlock& block = blocks_[std::min(place.block, blocks_.size() - 1)];
  return block.begin + place.tokens * block.units_per_token + place.beyond;
}

std::optional<std::pair<qint64, qint64>> MapSquare::pair_at(QPointF position) const {
  if (!rect.contains(position)) return std::nullopt;
  const auto row = axis.token_at(position.y() - rect.top() + axis.row_scroll());
  const auto column = axis.token_at(position.x() - rect.left() + axis.column_scroll());
  if (!row || !column) return std::nullopt;
  return std::pair<qint64, qint64>(*row, *column);
}

namespace {

constexpr std::array<int, token_group_count> hue{168, 200, 104, 52};
constexpr std::array<int, token_group_count> saturation{120, 140, 115, 165};
constexpr std::array<int, token_group_count> light_lightness{52, 88, 128, 168};
constexpr std::array<int, token_group_count> dark_lightness{78, 112, 150, 190};

/// Lightness, green-red, blue-yellow.
struct OkLab {
  double l, a, b;
};

double srgb_of_linear(double value) {
  value = std::clamp(value, 0.0, 1.0);
  return value <= 0.0031308 ? 12.92 * value : 1.055 * std::pow(value, 1 / 2.4) - 0.055;
}

/// Ottosson's matrices (https://bottosson.github.io/posts/oklab).
QRgb rgb_of(const OkLab& color) {
  const double l = std::pow(color.l + 0.3963377774 * color.a + 0.2158037573 * color.b, 3);
  const double m = std::pow(color.l - 0.1055613458 * color.a - 0.0638541728 * color.b, 3);
  const double s = std::pow(color.l - 0.0894841775 * color.a - 1.2914855480 * color.b, 3);
  const auto channel = [](double linear) {
    return static_cast<int>(std::lround(255 * srgb_of_linear(linear)));
  };
  return qRgb(channel(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
              channel(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
              channel(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s));
}

/// Linear interpolation between equally spaced anchors.
HeatRamp ramp_of(const std::vector<OkLab>& anchors) {
  HeatRamp ramp{};
  const auto stretches = static_cast<double>(anchors.size() - 1);
  for (std::size_t step = 0; step < ramp.size(); ++step) {
    const double at = static_cast<double>(step) / (heat_steps - 1) * stretches;
    const auto left = std::min(static_cast<std::size_t>(at), anchors.size() - 2);
    const double share = at - static_cast<double>(left);
    const OkLab& from = anchors[left];
    const OkLab& to = anchors[left + 1];
    ramp[step] = rgb_of({from.l + share * (to.l - from.l), from.a + share * (to.a - from.a),
                         from.b + share * (to.b - from.b)});
  }
  return ramp;
}

/// Calling position() for every cell would compute a logarithm each time: instead, a table indexed
/// by the leading bits of the magnitude, in steps of 1/64, gives the step.
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

const HeatRamp& ramp_of(const HeatScale& scale, ChartTheme theme) {
  return scale.difference ? difference_ramp(theme) : weight_ramp(theme);
}

}  // namespace

QColor pair_color(TokenGroup from, TokenGroup to, ChartTheme theme) {
  const auto row = static_cast<std::size_t>(from);
  const auto column = static_cast<std::size_t>(to);
  const auto& lightness = theme == ChartTheme::light ? light_lightness : dark_lightness;
  return QColor(QColor::fromHsl(hue[row], saturation[row], lightness[column]).rgb());  // 8 bits
}

QColor ground_color(ChartTheme theme) {
  return theme == ChartTheme::light ? QColor(0xf0, 0xf0, 0xee) : QColor(0x2b, 0x2d, 0x31);
}

QColor margin_color(TokenGroup group, ChartTheme theme) {
  const bool light = theme == ChartTheme::light;
  switch (group) {
    case TokenGroup::cls:
      return light ? QColor(0x11, 0x11, 0x11) : QColor(0xf2, 0xf2, 0xf2);
    case TokenGroup::query:
      return light ? QColor(0x2d, 0x6c, 0xb4) : QColor(0x5a, 0x9b, 0xe6);
    case TokenGroup::document:
      return QColor(0xf2, 0xc1, 0x2e);
    case TokenGroup::sentence:
      return light ? QColor(0xc9, 0x2f, 0x2a) : QColor(0xe8, 0x55, 0x4e);
  }
  return {};
}

QString group_title(TokenGroup group) {
  switch (group) {
    case TokenGroup::cls:
      return QStringLiteral("[CLS]");
    case TokenGroup::query:
      return QStringLiteral("query");
    case TokenGroup::document:
      return QStringLiteral("document");
    case TokenGroup::sentence:
      return QStringLiteral("sentence start");
  }
  return {};
}

const HeatRamp& weight_ramp(ChartTheme theme) {
  static const HeatRamp light = ramp_of({{0.99, -0.005, 0.015},
                                         {0.81, -0.02, 0.085},
                                         {0.63, -0.045, 0.01},
                                         {0.45, -0.02, -0.09},
                                         {0.27, 0.005, -0.10}});
  static const HeatRamp dark = ramp_of({{0.235, 0.0, -0.01},
                                        {0.41, 0.0, -0.10},
                                        {0.59, -0.04, -0.04},
                                        {0.77, -0.03, 0.08},
                                        {0.95, -0.01, 0.11}});
  return theme == ChartTheme::light ? light : dark;
}

const HeatRamp& difference_ramp(ChartTheme theme) {
  static const HeatRamp light = ramp_of({{0.38, -0.01, -0.13},
                                         {0.68, -0.03, -0.10},
                                         {0.99, 0.0, 0.0},
                                         {0.68, 0.08, 0.11},
                                         {0.38, 0.07, 0.07}});
  static const HeatRamp dark = ramp_of({{0.84, -0.04, -0.08},
                                        {0.53, -0.02, -0.12},
                                        {0.235, 0.0, 0.0},
                                        {0.53, 0.08, 0.09},
                                        {0.84, 0.05, 0.10}});
  return theme == ChartTheme::light ? light : dark;
}

QColor not_allowed_color(ChartTheme theme) {
  return theme == ChartTheme::light ? QColor(0xd9, 0xd9, 0xdb) : QColor(0x3b, 0x3d, 0x43);
}

double HeatScale::position(double value) const {
  const double share = largest > 0 ? std::clamp(std::abs(value) / largest, 0.0, 1.0) : 0.0;
  double at = share;
  if (logarithmic) {
    at = share > 0 ? std::clamp(1 + std::log10(share) / decades, 0.0, 1.0) : 0.0;
  }
  if (!difference) return at;
  return 0.5 + (value < 0 ? -at : at) / 2;
}

double HeatScale::value(double position) const {
  const double at = difference ? std::abs(position - 0.5) * 2 : position;
  const double share = logarithmic ? std::pow(10, (at - 1) * decades) : at;
  return (difference && position < 0.5 ? -1 : 1) * share * largest;
}

QColor heat_color(double value, const HeatScale& scale, ChartTheme theme) {
  const auto step = std::lround(scale.position(value) * (heat_steps - 1));
  return QColor(ramp_of(scale, theme)[static_cast<std::size_t>(step)]);
}

QImage heat_image(const PooledMap& map, const HeatScale& scale, ChartTheme theme) {
  const MapRegion& region = map.region();
  QImage image(static_cast<int>(region.width), static_cast<int>(region.height),
               QImage::Format_RGB32);
  if (image.isNull()) return image;
  const HeatRamp& ramp = ramp_of(scale, theme);
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

}  // namespace attnscope::charts
