#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Colours and words of maps. A mask's are those of the paper's Fig. 1 (Schlatt et al., ECIR 2024):
// black [CLS], blue query, yellow document, red sentence starts in the margins; green cells within.
// Those of attention weights change in lightness evenly (in OKLab, Ottosson 2020) and tell values
// apart by blue against yellow or orange alone, which every common kind of colour blindness leaves:
// weights run from the ground's lightness to its opposite, differences from blue over the ground to
// orange.

#include <QColor>
#include <QImage>
#include <QRgb>
#include <QString>
#include <array>

#include "app/gui/charts/chart_theme.h"
#include "app/gui/charts/mask_problem.h"
#include "engine/inspect/pooled_map.h"
#include "engine/pattern/attention_pattern.h"

namespace attnscope::charts {

/// An allowed pair: the hue turns with the attending group, the lightness with the attended.
[[nodiscard]] QColor pair_color(TokenGroup from, TokenGroup to, ChartTheme theme);
/// A pair that is not allowed.
[[nodiscard]] QColor ground_color(ChartTheme theme);
/// A pair of two masks set against each other. Hatched as well (hatch_of), so that no colour is
/// alone in telling A from B.
[[nodiscard]] QColor difference_color(DifferencePart part, ChartTheme theme);
/// The way the hatching rises: 1 like "/", -1 like "\\", 0 none.
[[nodiscard]] int hatch_of(DifferencePart part);
/// A token in the margin.
[[nodiscard]] QColor margin_color(TokenGroup group, ChartTheme theme);
/// "[CLS]", "query", "document", "sentence start".
[[nodiscard]] QString group_title(TokenGroup group);

inline constexpr int heat_steps = 256;
using HeatRamp = std::array<QRgb, heat_steps>;

[[nodiscard]] const HeatRamp& weight_ramp(ChartTheme theme);
/// Step 0 is most negative, the middle is 0.
[[nodiscard]] const HeatRamp& difference_ramp(ChartTheme theme);
/// Pairs that the pattern does not allow.
[[nodiscard]] QColor not_allowed_color(ChartTheme theme);

/// How weights become steps of the ramp.
struct HeatScale {
  bool logarithmic = false;
  bool difference = false;  // values of either sign
  double largest = 1;       // magnitude at the ramp's end
  /// Weights below so much are drawn as the smallest, where logarithmic.
  static constexpr double decades = 4;

  /// 0 ... 1 along the ramp.
  [[nodiscard]] double position(double value) const;
  /// The value at a position, its inverse.
  [[nodiscard]] double value(double position) const;
  friend bool operator==(const HeatScale&, const HeatScale&) = default;
};

/// The ramp's colour of a value.
[[nodiscard]] QColor heat_color(double value, const HeatScale& scale, ChartTheme theme);

/// Weights as pixels, one a cell.
[[nodiscard]] QImage heat_image(const PooledMap& map, const HeatScale& scale, ChartTheme theme);

}  // namespace attnscope::charts
