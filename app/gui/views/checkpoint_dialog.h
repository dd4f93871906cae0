#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A checkpoint's folder, a query with its document and an attention pattern; what the model attends
// to is computed in the background, while the window goes on. What was typed is remembered.

#include <QDialog>

#include "app/gui/models/pattern_list_model.h"
#include "app/gui/session/checkpoint_inspection.h"

class QLineEdit;
class QPlainTextEdit;
class QProgressBar;
class QPushButton;

namespace attnscope::gui {

class PatternPicker;
class ProblemLabel;

class CheckpointDialog : public QDialog {
  Q_OBJECT
 public:
  explicit CheckpointDialog(QWidget* parent = nullptr);
  ~CheckpointDialog() override;

 Q_SIGNALS:
  /// The dialog is closed then.
  void written(const QString& file);

 private:
  void build();
  QWidget* folder_row();
  QWidget* document_box();
  void read_document(const QString& file);
  void compute();
  void busy_changed();
  void changed();

  PatternListModel patterns_;
  CheckpointInspection inspection_;
  QLineEdit *folder_, *query_;
  QPlainTextEdit* document_;
  PatternPicker* pattern_;
  QProgressBar* progress_;
  ProblemLabel* problem_;
  QPushButton* compute_;
};

}  // namespace attnscope::gui
