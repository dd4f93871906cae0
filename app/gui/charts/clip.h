#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Lines cut at the frame of the plot before they are painted: QSvgGenerator does not clip.

#include <QLineF>
#include <QPolygonF>
#include <QRectF>
#include <optional>
#include <vector>

namespace attnscope::charts {

/// The part of a line that lies in `frame`.
[[nodiscard]] std::optional<QLineF> clipped(const QLineF& line, const QRectF& frame);
/// The parts of a line through several points that lie in `frame`.
[[nodiscard]] std::vector<QPolygonF> clipped(const QPolygonF& line, const QRectF& frame);
/// Whether a point lies in `frame` or, by rounding, on its border.
[[nodiscard]] bool is_inside(QPointF point, const QRectF& frame);

}  // namespace attnscope::charts
