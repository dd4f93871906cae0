// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/drawing/axis_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace attnscope::charts {
namespace {

// A computed power may differ from its tick by a rounding error.
constexpr double tolerance = 1e-9;

double nice_step(double span, int steps) {
  const double raw = span / steps;
  const double magnitude = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (raw <= factor * magnitude * (1 + tolerance)) return factor * magnitude;
  }
  return 10 * magnitude;
}

/// The round value (1, 2, 5, 10, 20 ...) with index `place`.
double round_value(int place) {
  constexpr std::array<double, 3> digits{1, 2, 5};
  const int decade = place >= 0 ? place / 3 : (place - 2) / 3;
  return digits.at(static_cast<std::size_t>(place - 3 * decade)) * std::pow(10.0, decade);
}

int round_place_below(double value) {
  int place = 3 * static_cast<int>(std::floor(std::log10(value) + tolerance)) + 2;
  while (round_value(place) > value * (1 + tolerance)) --place;
  return place;
}

int round_place_above(double value) {
  const int below = round_place_below(value);
  return round_value(below) >= value * (1 - tolerance) ? below : below + 1;
}

}  // namespace

QString number_text(double value, int digits) {
  if (value == 0) return QStringLiteral("0");
  const double magnitude = std::abs(value);
  if (!(magnitude >= 1e-4 && magnitude < 1e7)) {
    return QString::fromStdString(fmt::format("{:.{}g}", value, digits));
  }
  // Integer digits are never rounded: 16384 remains 16384.
  const int whole = static_cast<int>(std::floor(std::log10(magnitude))) + 1;
  std::string text = fmt::format("{:.{}f}", value, std::max(0, digits - whole));
  if (text.find('.') != std::string::npos) {
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
  }
  return QString::fromStdString(text);
}

bool AxisScale::can_show(ScaleKind kind, double value) {
  return std::isfinite(value) && (kind == ScaleKind::linear || value > 0);
}

AxisScale::AxisScale(ScaleKind kind, std::span<const double> values) : kind_(kind) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const double value : values) {
    if (!can_show(kind, value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) {
    low = kind == ScaleKind::linear ? 0 : 1;
    high = kind == ScaleKind::linear ? 1 : 10;
  }
  switch (kind) {
    case ScaleKind::linear:
      fit_linear(low, high);
      break;
    case ScaleKind::log2:
      fit_log2(low, high);
      break;
    case ScaleKind::log10:
      fit_log10(low, high);
      break;
  }
}

void AxisScale::fit_linear(double low, double high) {
  low = std::min(low, 0.0);
  if (high <= low) high = low + 1;
  const double step = nice_step(high - low, 5);
  const double first = std::floor(low / step + tolerance);
  const double last = std::ceil(high / step - tolerance);
  low_ = first * step;
  high_ = last * step;
  for (double i = first; i <= last; ++i) {
    ticks_.push_back({i * step, number_text(i * step, 6)});
    if (i < last) minor_ticks_.push_back((i + 0.5) * step);
  }
}

void AxisScale::fit_log2(double low, double high) {
  int first = static_cast<int>(std::ceil(std::log2(low) - tolerance));
  int last = static_cast<int>(std::floor(std::log2(high) + tolerance));
  if (last - first < 1) {  // within one octave: extend to the adjacent powers
    first = static_cast<int>(std::floor(std::log2(low) + tolerance));
    last = std::max(first + 1, static_cast<int>(std::ceil(std::log2(high) - tolerance)));
    if (std::exp2(first) >= low * (1 - tolerance) && std::exp2(last) > high) --first;
  }
  // Margin at both ends, so that the frame cuts no marker.
  const double margin =
      0.04 *
      std::max(1.0, std::log2(std::max(high, std::exp2(last)) / std::min(low, std::exp2(first))));
  low_ = std::min(low, std::exp2(first)) / std::exp2(margin);
  high_ = std::max(high, std::exp2(last)) * std::exp2(margin);
  for (int power = first; power <= last; ++power) {
    ticks_.push_back({std::exp2(power), number_text(std::exp2(power), 6)});
  }
}

void AxisScale::fit_log10(double low, double high) {
  constexpr double narrow = 1.15;  // if rounded outward, such values would all be at one edge
  if (low < high && high / low < narrow) {
    const double margin = std::pow(high / low, 0.1);
    low_ = low / margin;
    high_ = high * margin;
    return add_round_ticks();
  }
  int first_place = round_place_below(low), last_place = round_place_above(high);
  if (first_place == last_place) {  // a single value, which is itself a tick
    --first_place;
    ++last_place;
  }
  low_ = round_value(first_place);
  high_ = round_value(last_place);
  const double decades = std::log10(high_ / low_);
  const int first = static_cast<int>(std::floor(std::log10(low_) - tolerance));
  const int last = static_cast<int>(std::ceil(std::log10(high_) + tolerance));
  for (int power = first; power <= last; ++power) {
    for (int digit = 1; digit <= 9; ++digit) {
      const double value = digit * std::pow(10.0, power);
      if (value < low_ * (1 - tolerance) || value > high_ * (1 + tolerance)) continue;
      const bool labelled =
          digit == 1 || (decades <= 3.01 && (digit == 2 || digit == 5)) || decades < 0.75;
      if (labelled) {
        ticks_.push_back({value, number_text(value, 6)});
      } else {
        minor_ticks_.push_back(value);
      }
    }
  }
}

AxisScale AxisScale::within(ScaleKind kind, AxisRange range) {
  AxisScale scale;
  scale.kind_ = kind;
  scale.low_ = range.low;
  scale.high_ = range.high;
  const auto add = [&](double value) {
    const bool inside =
        value >= range.low * (1 - tolerance) && value <= range.high * (1 + tolerance);
    if (inside) scale.ticks_.push_back({value, number_text(value, 6)});
  };
  if (kind == ScaleKind::log2) {
    const int last = static_cast<int>(std::floor(std::log2(range.high) + tolerance));
    for (int p = static_cast<int>(std::floor(std::log2(range.low))); p <= last; ++p) {
      add(std::exp2(p));
    }
  } else if (kind == ScaleKind::log10) {
    const bool sparse = std::log10(range.high / range.low) > 3.01;
    for (int p = round_place_above(range.low); p <= round_place_below(range.high); ++p) {
      if (p % 3 == 0 || !sparse) add(round_value(p));
    }
  }
  if (scale.ticks_.size() < 2) scale.add_round_ticks();
  return scale;
}

AxisScale AxisScale::of_names(const std::vector<std::string>& names) {
  AxisScale scale;
  scale.low_ = -0.5;
  scale.high_ = static_cast<double>(names.size()) - 0.5;
  for (const std::string& name : names)
    scale.ticks_.push_back({static_cast<double>(scale.ticks_.size()), QString::fromUtf8(name)});
  return scale;
}

void AxisScale::add_round_ticks() {
  const double step = nice_step(high_ - low_, 5);
  // Enough digits to distinguish adjacent ticks.
  const double largest = std::max(std::abs(low_), std::abs(high_));
  const int digits = std::clamp(
      static_cast<int>(std::floor(std::log10(largest)) - std::floor(std::log10(step))) + 1, 1, 15);
  ticks_.clear();
  const double last = std::floor(high_ / step + tolerance);
  for (double i = std::ceil(low_ / step - tolerance); i <= last; ++i) {
    ticks_.push_back({i * step, number_text(i * step, digits)});
  }
}

double AxisScale::place(double value) const {
  if (kind_ == ScaleKind::linear) return (value - low_) / (high_ - low_);
  return std::log(value / low_) / std::log(high_ / low_);
}

double AxisScale::value_at(double place) const {
  if (kind_ == ScaleKind::linear) return low_ + place * (high_ - low_);
  return low_ * std::exp(place * std::log(high_ / low_));
}

double AxisScale::fraction(double value) const {
  if (kind_ != ScaleKind::linear && value <= 0) return 0;
  return std::clamp(place(value), 0.0, 1.0);
}

void AxisScale::name_end(double value, const QString& name) {
  if (!can_show(kind_, value)) return;
  constexpr double near = 0.08;
  const double end = place(value);
  std::erase_if(ticks_, [&](const Tick& tick) { return place(tick.value) > end - near; });
  std::erase_if(minor_ticks_, [&](double tick) { return place(tick) > end - tolerance; });
  if (end >= -tolerance && end <= 1 + tolerance) ticks_.push_back({value, name});
}

void AxisScale::keep_at_most(int count) {
  const auto most = static_cast<std::size_t>(std::max(count, 2));
  const auto keep = [this](auto&& stays) {
    std::vector<Tick> kept;
    for (std::size_t i = 0; i < ticks_.size(); ++i) {
      if (stays(i)) {
        kept.push_back(ticks_[i]);
      } else {
        minor_ticks_.push_back(ticks_[i].value);
      }
    }
    ticks_ = std::move(kept);
  };
  const auto is_power = [](const Tick& tick) {
    const double power = std::log10(tick.value);
    return std::abs(power - std::round(power)) < 1e-6;
  };
  if (ticks_.size() <= most) return;
  // Powers of ten are removed last.
  if (kind_ == ScaleKind::log10 && std::ranges::count_if(ticks_, is_power) >= 2)
    keep([&](std::size_t i) { return is_power(ticks_[i]); });
  if (ticks_.size() <= most) return;
  const std::size_t step = (ticks_.size() + most - 1) / most;
  keep([step](std::size_t i) { return i % step == 0; });
}

}  // namespace attnscope::charts
