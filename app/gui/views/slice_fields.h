#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A selector for every axis that the charts hold fixed, below the selectors of the drawn
// quantities. Values that were not measured with the other choices are in parentheses; selecting
// one changes the others to the nearest measured combination, and a sentence reports it.

#include <QWidget>

#include "engine/report/slice.h"

class QComboBox;
class QFormLayout;
class QLabel;

namespace attnscope::gui {

class SliceFields : public QWidget {
  Q_OBJECT
 public:
  explicit SliceFields(QWidget* parent = nullptr);

  /// Adds a control above the selectors.
  void add_leading(const QString& label, QComboBox* control);
  void set_shown(QComboBox* control, bool shown);
  void show_slice(const report::Slice& slice);
  /// The fixed values: "window all, dtype float16".
  [[nodiscard]] QStringList in_words() const;

 Q_SIGNALS:
  void chosen(const QString& key, const QString& value);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void rebuild();
  void fill();

  report::Slice slice_;
  QList<QComboBox*> selectors_;  // one per slice_.axes
  QFormLayout* form_;
  QLabel* moved_;
};

}  // namespace attnscope::gui
