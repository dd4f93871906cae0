#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The range and the ticks of an axis, as plain numbers. Lengths double from point to point, so x
// ticks are powers of two with integer labels; times span decades, so y ticks are 1, 2, 5, 10 ...

#include <QString>
#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/report/figure.h"

namespace attnscope::charts {

/// Adds what an axis must cover for a value: the value, and its interval where the interval ends
/// near it. Wide intervals are cut, because they would compress the range of the values.
inline void add_reached(std::vector<double>& values, double y, double low, double high) {
  constexpr double near = 1.25;
  values.insert(values.end(), {y, std::max(low, y / near), std::min(high, y * near)});
}

/// The height of each bar of a figure, summed over the visible series; empty for other figures.
[[nodiscard]] inline std::vector<double> bar_heights(const report::Figure& figure,
                                                     const std::set<std::string>& hidden) {
  std::vector<double> heights(figure.x_names.size(), 0.0);
  for (const report::Series& series : figure.series) {
    if (heights.empty() || hidden.contains(series.style_key)) continue;
    for (const report::Point& point : series.points)
      heights.at(static_cast<std::size_t>(point.x)) += point.y;
  }
  return heights;
}

using ScaleKind = report::Scale;

/// A range of an axis, in its values.
struct AxisRange {
  double low = 0, high = 0;
  friend bool operator==(const AxisRange&, const AxisRange&) = default;
};

/// Key: the axis label. Axes with the same label share a range.
using AxisRanges = std::map<std::string, AxisRange>;

struct Tick {
  double value = 0;
  QString label;
};

class AxisScale {
 public:
  AxisScale() = default;
  /// `values` may be in any order; what is not finite, or not positive on a log scale, is ignored.
  /// Without a usable value the axis runs from 0 to 1 (linear) or 1 to 10.
  AxisScale(ScaleKind kind, std::span<const double> values);

  /// The axis from `range.low` to `range.high` exactly, as after zooming: low < high, and the scale
  /// can show both. If the scale has too few ticks in this range, round values are used.
  [[nodiscard]] static AxisScale within(ScaleKind kind, AxisRange range);

  /// A place for each name at 0, 1, ..., with room for a bar around it. Never thinned.
  [[nodiscard]] static AxisScale of_names(const std::vector<std::string>& names);

  [[nodiscard]] static bool can_show(ScaleKind kind, double value);

  [[nodiscard]] ScaleKind kind() const { return kind_; }
  [[nodiscard]] double low() const { return low_; }
  [[nodiscard]] double high() const { return high_; }
  [[nodiscard]] AxisRange range() const { return {low_, high_}; }
  /// Position along the axis: 0 at low, 1 at high, outside [0, 1] beyond them. Precondition:
  /// can_show(kind, value).
  [[nodiscard]] double place(double value) const;
  /// The value at a position.
  [[nodiscard]] double value_at(double place) const;
  /// Does the same as place(), but values beyond the ends stay at the ends.
  [[nodiscard]] double fraction(double value) const;
  [[nodiscard]] const std::vector<Tick>& ticks() const { return ticks_; }
  [[nodiscard]] const std::vector<double>& minor_ticks() const { return minor_ticks_; }

  /// Adds a named tick at a value; replaces the ticks beyond it and near it.
  void name_end(double value, const QString& name);

  /// Reduces labelled ticks to at most `count`, at regular steps; the removed ones become minor
  /// ticks.
  void keep_at_most(int count);

 private:
  void add_round_ticks();
  void fit_linear(double low, double high);
  void fit_log2(double low, double high);
  void fit_log10(double low, double high);

  ScaleKind kind_ = ScaleKind::linear;
  double low_ = 0;
  double high_ = 1;
  std::vector<Tick> ticks_;
  std::vector<double> minor_ticks_;
};

/// Writes at most `digits` significant digits, no exponent between 1e-4 and 1e7, and always a
/// decimal point.
[[nodiscard]] QString number_text(double value, int digits = 3);

}  // namespace attnscope::charts
