#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Measured time against the paper's effectiveness: a figure of one point a contender. Contenders
// without a published number, or without a time, are absent.
//
//   report::Figure figure = effectiveness_figure(advice);
//   label->setText(absent_in_words(advice));

#include <QString>
#include <QStringList>
#include <optional>

#include "app/gui/charts/axis_scale.h"
#include "engine/report/answer.h"

namespace attnscope::gui {

[[nodiscard]] report::Figure effectiveness_figure(const report::Answer& advice);
/// A part of the axis that shows differences of 0.01; nothing without a point.
[[nodiscard]] std::optional<charts::AxisRange> effectiveness_range(const report::Figure& figure);

/// Names of the contenders without a published number.
[[nodiscard]] QStringList without_published(const report::Answer& advice);

}  // namespace attnscope::gui
