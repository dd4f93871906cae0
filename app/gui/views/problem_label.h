#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// One sentence beside the control that it is about; takes no room while there is none.

#include <QLabel>

namespace attnscope::gui {

class ProblemLabel : public QLabel {
  Q_OBJECT
 public:
  explicit ProblemLabel(const char* name, QWidget* parent = nullptr);
  /// Empty: nothing is wrong.
  void set_problem(const QString& sentence);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void tint();
};

}  // namespace attnscope::gui
