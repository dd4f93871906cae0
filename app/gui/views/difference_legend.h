#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What the colours and hatchings of a difference mean, and how many pairs have each.

#include <QWidget>
#include <array>
#include <optional>

#include "app/gui/charts/mask_difference.h"

class QLabel;

namespace attnscope::gui {

class DifferenceLegend : public QWidget {
  Q_OBJECT
 public:
  explicit DifferenceLegend(QWidget* parent = nullptr);

  /// Of the true sizes; none: not counted.
  void set_counts(const std::optional<charts::DifferenceCounts>& counts, const QString& otherwise);
  [[nodiscard]] QString text(charts::DifferencePart part) const;

 private:
  void refresh();

  std::array<QLabel*, charts::difference_part_count> labels_{};
  QString otherwise_;
  std::optional<charts::DifferenceCounts> counts_;
};

}  // namespace attnscope::gui
