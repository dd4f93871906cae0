#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The options of `attnscope train`. The training starts as a separate process, as runs do, which
// checks all input; the dialog stays open until the first step's curve exists, or shows the error
// of the process. Input is remembered.

#include <QDialog>
#include <memory>

#include "app/gui/models/pattern_list_model.h"

class QPushButton;

namespace attnscope::gui {

class RunLauncher;
namespace Ui {
class TrainingDialog;
}

class TrainingDialog : public QDialog {
  Q_OBJECT
 public:
  explicit TrainingDialog(RunLauncher* launcher, QWidget* parent = nullptr);
  ~TrainingDialog() override;

 private:
  void restore();
  void keep() const;
  void check();
  void start();
  void set_waiting(bool waiting);
  [[nodiscard]] QStringList arguments() const;

  RunLauncher* launcher_;
  PatternListModel patterns_;
  std::unique_ptr<Ui::TrainingDialog> ui_;
  QPushButton* start_ = nullptr;
};

}  // namespace attnscope::gui
