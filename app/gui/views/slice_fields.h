#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A selector for every axis that the charts hold fixed, below those of what they draw. Values that
// were not measured with the other choices stand in parentheses; choosing one moves the others to
// the nearest combination there is, which a sentence then says.

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

  /// Stands above the selectors.
  void add_leading(const QString& label, QComboBox* control);
  void set_shown(QComboBox* control, bool shown);
  void show_slice(const report::Slice& slice);
  /// What is held fixed: "window all, dtype float16".
  [[nodiscard]] QStringList in_words() const;

 Q_SIGNALS:
  void chosen(const QString& key, const QString& value);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void rebuild();
  void fill();

  report::Slice slice_;
  QList<QComboBox*> selectors_;  // of slice_.axes
  QFormLayout* form_;
  QLabel* moved_;
};

}  // namespace attnscope::gui
