#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A checkpoint's folder, a query with its document and an attention pattern; what the model attends
// to is computed in the background, while the window goes on. What was typed is remembered.

#include <QDialog>
#include <memory>

#include "app/gui/models/pattern_list_model.h"
#include "app/gui/session/checkpoint_inspection.h"

class QPushButton;

namespace attnscope::gui {
namespace Ui {
class CheckpointDialog;
}

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
  void read_document(const QString& file);
  void compute();
  void busy_changed();
  void changed();

  PatternListModel patterns_;
  CheckpointInspection inspection_;
  std::unique_ptr<Ui::CheckpointDialog> ui_;
  QPushButton* compute_ = nullptr;
};

}  // namespace attnscope::gui
