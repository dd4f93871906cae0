#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The state of the live run: heats done, the current contender, time left, every heat as a square,
// and a button to pause it.

#include <QFrame>
#include <chrono>
#include <optional>

#include "app/gui/models/heats_model.h"
#include "app/gui/session/snapshot.h"

class QAction;
class QLabel;
class QProgressBar;
class QPushButton;
class QToolButton;

namespace attnscope::gui {

class HeatsLegend;
class HeatsView;

class ProgressStrip : public QFrame {
  Q_OBJECT
 public:
  explicit ProgressStrip(QWidget* parent = nullptr);

  void show_starting();
  using Time = std::chrono::steady_clock::time_point;
  /// Hidden without a live run. The bar shows the elapsed fraction of the total time (elapsed and
  /// left).
  void show_run(const RunEntry* live, Time now = std::chrono::steady_clock::now());
  /// Heats of the live run; those of other runs are not shown.
  void show_heats(const HeatsPointer& heats);
  /// Called after a pause that did not reach the run.
  void allow_again();
  [[nodiscard]] QPushButton* pause_button() const { return pause_button_; }
  /// Pauses or continues the live run.
  [[nodiscard]] QAction* pause_action() const { return pause_; }
  /// Shows the heats; enabled while there are any.
  [[nodiscard]] QAction* heats_action() const { return go_to_heats_; }
  [[nodiscard]] const HeatsModel& heats() const { return heats_; }
  [[nodiscard]] HeatsView* heats_view() const { return heats_view_; }
  [[nodiscard]] HeatsLegend* legend() const { return legend_; }
  [[nodiscard]] QString text() const;

 Q_SIGNALS:
  void pause_requested(const QString& uuid);
  void continue_requested(const QString& uuid);

 private:
  void build_line();
  void build_actions();
  void show_pause(const Progress& progress);
  void show_share(Time now);
  void set_live(bool live);

  HeatsModel heats_;
  QLabel* title_;
  QLabel* current_;
  QLabel* left_;
  QProgressBar* bar_;
  QPushButton* pause_button_;
  QToolButton* heats_button_;
  QAction *pause_, *go_to_heats_;
  HeatsView* heats_view_;
  HeatsLegend* legend_;
  QLabel* chosen_;
  QWidget* grid_;                   // heats, legend and the sentence of the selected heat
  std::optional<bool> heats_wish_;  // the user's choice; otherwise it depends on the window's size
  QString uuid_;
  Progress progress_;
  // The fraction of the run's heats done when it was first shown, the seconds of measuring since
  // then, and the time when it was last shown while being measured.
  double share_at_first_ = 0, seconds_seen_ = 0;
  std::optional<Time> seen_;
  std::optional<bool> pause_wish_;  // requested, and not yet visible in the run's progress
};

}  // namespace attnscope::gui
