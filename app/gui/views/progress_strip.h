#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What the live run is doing: heats done, the current contender, time left, every heat as a square,
// and the way to pause it.

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
  /// Hidden without a live run. The bar shows the share of the time: what has passed, of that and
  /// what is left.
  void show_run(const RunEntry* live, Time now = std::chrono::steady_clock::now());
  /// Of the live run; those of another are not shown.
  void show_heats(const HeatsPointer& heats);
  /// After a pause that did not reach the run.
  void allow_again();
  [[nodiscard]] QPushButton* pause_button() const { return pause_button_; }
  /// Pauses the live run, or lets it go on.
  [[nodiscard]] QAction* pause_action() const { return pause_; }
  /// Enabled while there are heats to go to; shows them.
  [[nodiscard]] QAction* heats_action() const { return go_to_heats_; }
  [[nodiscard]] const HeatsModel& heats() const { return heats_; }
  [[nodiscard]] HeatsView* heats_view() const { return heats_view_; }
  [[nodiscard]] HeatsLegend* legend() const { return legend_; }
  [[nodiscard]] QString text() const;

 Q_SIGNALS:
  void pause_asked(const QString& uuid);
  void continue_asked(const QString& uuid);

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
  QWidget* grid_;                   // heats, legend and what is said of the chosen one
  std::optional<bool> heats_wish_;  // what the person chose; else as the window has room
  QString uuid_;
  Progress progress_;
  // The share of the run's heats when it was first shown, seconds of measuring since then, and when
  // it was last shown while it was being measured.
  double share_at_first_ = 0, seconds_seen_ = 0;
  std::optional<Time> seen_;
  std::optional<bool> pause_wish_;  // asked for, and not yet seen in the run's progress
};

}  // namespace attnscope::gui
