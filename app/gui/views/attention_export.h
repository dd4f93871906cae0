#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Asks how the maps of page Attention become a figure: width by venue, font size, titles, caption,
// and whether the numbers go beside it as CSV.

#include <QDialog>

#include "app/gui/charts/heat_export.h"

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;

namespace attnscope::gui {

class AttentionExport : public QDialog {
  Q_OBJECT
 public:
  explicit AttentionExport(QWidget* parent = nullptr);

  [[nodiscard]] charts::HeatFigureOptions options() const;
  /// "pdf", "svg" or "png".
  [[nodiscard]] QString extension() const;
  [[nodiscard]] bool writes_numbers() const;

 private:
  QComboBox *venue_, *format_;
  QDoubleSpinBox *width_, *font_;
  QCheckBox *titles_, *caption_, *numbers_;
};

}  // namespace attnscope::gui
