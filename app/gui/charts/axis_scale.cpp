// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/axis_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace attnscope::charts {
namespace {

// A computed power may miss its tick by a rounding error.
constexpr double tolerance = 1e-9;

double nice_step(double span, int steps) {
  const double raw = span / steps;
  const double magnitude = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (raw <= factor * magnitude * (1 + tolerance)) return factor * magnitude;
  }
  return 10 * magnitude;
}

}  // namespace

QString number_text(double value, int digits) {
  if (value == 0) return QStringLiteral("0");
  const double magnitude = std::abs(value);
  if (!(magnitude >= 1e-4 && magnitude < 1e7)) {
    return QString::fromStdString(fmt::format("{:.{}g}", value, digits));
  }
  // Integer digits are never rounded away: 16384 stays 16384.
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
  if (last - first < 1) {  // within one octave: outward to the powers around it
    first = static_cast<int>(std::floor(std::log2(low) + tolerance));
    last = std::max(first + 1, static_cast<int>(std::ceil(std::log2(high) - tolerance)));
    if (std::exp2(first) >= low * (1 - tolerance) && std::exp2(last) > high) --first;
  }
  // Room at both ends, so that no marker is cut by the frame.
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
  constexpr std::array<double, 3> steps{1, 2, 5};
  // Outward to the next of 1, 2, 5, 10 ...
  const auto below = [&](double value) {
    const double decade = std::pow(10.0, std::floor(std::log10(value) + tolerance));
    double result = decade;
    for (const double step : steps) {
      if (step * decade <= value * (1 + tolerance)) result = step * decade;
    }
    return result;
  };
  const auto above = [&](double value) {
    const double decade = std::pow(10.0, std::floor(std::log10(value) + tolerance));
    for (const double step : steps) {
      if (step * decade >= value * (1 - tolerance)) return step * decade;
    }
    return 10 * decade;
  };
  low_ = below(low);
  high_ = above(high);
  if (high_ <= low_ * (1 + tolerance)) {  // one value, itself a tick
    low_ = below(low_ * 0.99);
    high_ = above(high_ * 1.01);
  }
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
    const int last = static_cast<int>(std::floor(std::log10(range.high) + tolerance));
    const bool sparse = std::log10(range.high / range.low) > 3.01;
    for (int p = static_cast<int>(std::floor(std::log10(range.low))); p <= last; ++p) {
      for (const double digit : {1.0, 2.0, 5.0}) {
        if (digit == 1 || !sparse) add(digit * std::pow(10.0, p));
      }
    }
  }
  if (scale.ticks_.size() < 2) scale.add_round_ticks();
  return scale;
}

void AxisScale::add_round_ticks() {
  const double step = nice_step(high_ - low_, 5);
  // As many digits as tell one tick from the next.
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

void AxisScale::keep_at_most(int count) {
  count = std::max(count, 2);
  const auto ticks = static_cast<int>(ticks_.size());
  if (ticks <= count) return;
  if (kind_ == ScaleKind::log10) {  // powers of ten stay longest
    std::vector<Tick> powers;
    for (const Tick& tick : ticks_) {
      const double power = std::log10(tick.value);
      if (std::abs(power - std::round(power)) < 1e-6) powers.push_back(tick);
    }
    if (powers.size() >= 2) {
      for (const Tick& tick : ticks_) {
        const double power = std::log10(tick.value);
        if (std::abs(power - std::round(power)) >= 1e-6) minor_ticks_.push_back(tick.value);
      }
      const bool again = powers.size() < ticks_.size();
      ticks_ = std::move(powers);
      if (again) return keep_at_most(count);
    }
  }
  const int step = (static_cast<int>(ticks_.size()) + count - 1) / count;
  std::vector<Tick> kept;
  for (int i = 0; i < static_cast<int>(ticks_.size()); ++i) {
    const Tick& tick = ticks_[static_cast<std::size_t>(i)];
    if (i % step == 0) {
      kept.push_back(tick);
    } else {
      minor_ticks_.push_back(tick.value);
    }
  }
  ticks_ = std::move(kept);
}

}  // namespace attnscope::charts
