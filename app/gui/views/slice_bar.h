#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A selector for every axis that the charts hold fixed. Values that were not measured with the
// other choices stand in parentheses; choosing one moves the others to the nearest combination
// there is, which the bar then says in a sentence.

#include <QWidget>

#include "engine/report/slice.h"

class QComboBox;
class QLabel;

namespace attnscope::gui {

class FlowLayout;

class SliceBar : public QWidget {
  Q_OBJECT
 public:
  explicit SliceBar(QWidget* parent = nullptr);

  /// Stands before the selectors, in the same lines.
  void add_leading(QWidget* control);
  void show_slice(const report::Slice& slice);
  /// The selector of an axis; null where the slice has none.
  [[nodiscard]] QComboBox* selector(const QString& key) const;

 Q_SIGNALS:
  void chosen(const QString& key, const QString& value);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void rebuild();
  void fill();

  report::Slice slice_;
  QList<QComboBox*> selectors_;  // of slice_.axes
  FlowLayout* flow_;
  QWidget* before_ = nullptr;  // that the keyboard comes from: the last of the leading controls
  QLabel* moved_;
};

}  // namespace attnscope::gui
