#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Colours and words of a mask, after the paper's Fig. 1 (Schlatt et al., ECIR 2024): black [CLS],
// blue query, yellow document, red sentence starts in the margins; green cells within.

#include <QColor>
#include <QString>

#include "app/gui/charts/chart_theme.h"
#include "app/gui/charts/mask_difference.h"
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

}  // namespace attnscope::charts
