#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What `attnscope train` is asked for. It is started as runs are, by a process of its own, which
// checks everything; the dialog stays until the first step's curve is there, or says what it said.
// What was typed is remembered.

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
