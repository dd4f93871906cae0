#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A cell's samples as a figure: every one by itself, in the order of its placements and rounds,
// with the median and its interval as lines across.

#include <optional>

#include "app/gui/charts/axis_scale.h"
#include "engine/report/figure.h"

namespace attnscope::gui {

/// Of very many samples an even choice, with every outlier. Without series: no row, or no samples.
[[nodiscard]] report::Figure samples_figure(const report::Row* row);

/// The part of its times in which samples lie: they differ by a few percent.
[[nodiscard]] std::optional<charts::AxisRange> samples_range(const report::Figure& figure);

}  // namespace attnscope::gui
