#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What else a pattern of one's own has: random blocks in place of its table, a name, a title, a
// description.

#include <QWidget>

#include "app/gui/models/pattern_editor.h"

class QCheckBox;
class QLineEdit;
class QSpinBox;

namespace attnscope::gui {

class ProblemLabel;

class PatternOwnBox : public QWidget {
  Q_OBJECT
 public:
  explicit PatternOwnBox(PatternEditor& editor, QWidget* parent = nullptr);

 private:
  void refresh();
  void set_blocks();
  void name_typed();

  PatternEditor& editor_;
  QCheckBox* has_blocks_;
  QWidget* block_fields_;
  QSpinBox *length_, *random_, *seed_;
  QLineEdit *name_, *title_, *description_;
  ProblemLabel* name_problem_;
};

}  // namespace attnscope::gui
