#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What the live run is doing: heats done, the current contender, time left, and the way to stop it.

#include <QFrame>
#include <optional>

#include "app/gui/session/snapshot.h"

class QLabel;
class QProgressBar;
class QPushButton;

namespace attnscope::gui {

class ProgressStrip : public QFrame {
  Q_OBJECT
 public:
  explicit ProgressStrip(QWidget* parent = nullptr);

  void show_starting();
  /// Hidden without a live run.
  void show_run(const RunEntry* live);
  /// After a cancel that did not reach the run.
  void allow_cancel();
  [[nodiscard]] QPushButton* cancel_button() const { return cancel_; }
  [[nodiscard]] QString text() const;

 Q_SIGNALS:
  void cancel_asked(const QString& uuid);

 private:
  QLabel* title_;
  QLabel* current_;
  QLabel* left_;
  QProgressBar* bar_;
  QPushButton* cancel_;
  QString uuid_;
};

}  // namespace attnscope::gui
