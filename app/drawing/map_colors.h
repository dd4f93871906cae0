#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Colours and labels of maps. A mask has those of the paper's Fig. 1 (Schlatt et al., ECIR 2024):
// black [CLS], blue query, yellow document, red sentence starts in the margins; green cells inside.
// The ramps of attention weights change evenly in lightness (in OKLab, Ottosson 2020) and encode
// values only by blue against yellow or orange, which all common kinds of colour blindness
// preserve: weights run from the background's lightness to its opposite, differences from blue over
// the background to orange.

#include <QColor>
#include <QImage>
#include <QRgb>
#include <QString>
#include <array>

#include "app/drawing/chart_theme.h"
#include "app/drawing/mask_problem.h"
#include "engine/inspect/head_summary.h"
#include "engine/pattern/attention_pattern.h"

namespace attnscope::charts {

/// An allowed pair: the hue depends on the attending group, the lightness on the attended group.
[[nodiscard]] QColor pair_color(TokenGroup from, TokenGroup to, ChartTheme theme);
/// A pair that is not allowed.
[[nodiscard]] QColor ground_color(ChartTheme theme);
/// A pair in the difference of two masks. It is also hatched (hatch_of), so that A and B are not
/// distinguished by colour alone.
[[nodiscard]] QColor difference_color(DifferencePart part, ChartTheme theme);
/// The lines of the hatching.
[[nodiscard]] QColor hatch_color(DifferencePart part, ChartTheme theme);
/// Slope of the hatching: 1 like "/", -1 like "\\", 0 none.
[[nodiscard]] int hatch_of(DifferencePart part);
/// A token in the margin.
[[nodiscard]] QColor margin_color(TokenGroup group, ChartTheme theme);
/// "[CLS]", "query", "document", "sentence start".
[[nodiscard]] QString group_title(TokenGroup group);

inline constexpr int heat_steps = 256;
using HeatRamp = std::array<QRgb, heat_steps>;

[[nodiscard]] const HeatRamp& weight_ramp(ChartTheme theme);
/// Step 0 is the most negative value; the middle is 0.
[[nodiscard]] const HeatRamp& difference_ramp(ChartTheme theme);
/// Colour of pairs that the pattern does not allow.
[[nodiscard]] QColor not_allowed_color(ChartTheme theme);

/// Maps weights to steps of the ramp.
struct HeatScale {
  bool logarithmic = false;
  bool difference = false;  // values have either sign
  double largest = 1;       // magnitude at the ramp's end
  /// Range of a logarithmic scale in decades; smaller weights are drawn as the smallest.
  static constexpr double decades = 4;

  /// Position along the ramp, in [0, 1].
  [[nodiscard]] double position(double value) const;
  /// Inverse of position().
  [[nodiscard]] double value(double position) const;
  friend bool operator==(const HeatScale&, const HeatScale&) = default;
};

/// The ramp's colour for a value.
[[nodiscard]] QColor heat_color(double value, const HeatScale& scale, ChartTheme theme);

/// Renders weights as an image, one pixel per cell.
[[nodiscard]] QImage heat_image(const PooledMap& map, const HeatScale& scale, ChartTheme theme);

}  // namespace attnscope::charts
