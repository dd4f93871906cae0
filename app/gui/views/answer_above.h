#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The answer above its run: a third of the height at first, one line while folded. What a person
// drags it to is kept.

#include <QSplitter>

namespace attnscope::gui {

class AnswerPanel;

class AnswerAbove : public QSplitter {
  Q_OBJECT
 public:
  AnswerAbove(AnswerPanel* answer, QWidget* run, QWidget* parent = nullptr);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void share_out();

  AnswerPanel* answer_;
  double share_;
};

}  // namespace attnscope::gui
