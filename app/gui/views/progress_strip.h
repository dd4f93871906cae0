#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The progress of the live run: its heats as a model and as squares, and the strip that shows them.

#include <QAbstractListModel>
#include <QFrame>
#include <QListView>
#include <QPalette>
#include <chrono>
#include <optional>

#include "app/gui/session/snapshot.h"

class QAction;
class QLabel;
class QProgressBar;
class QPushButton;
class QToolButton;

namespace attnscope::gui {

/// The heats of the live run, one row each, in the order in which they are measured.
class HeatsModel : public QAbstractListModel {
  Q_OBJECT
 public:
  enum Role {
    state_role = Qt::UserRole + 1,  // HeatState as int
  };

  using QAbstractListModel::QAbstractListModel;

  /// Null: none. Later snapshots of the same run update single rows.
  void set_heats(const HeatsPointer& heats);
  [[nodiscard]] int count(HeatState state) const;
  /// The row that is being measured, or that the run waits at; -1: none.
  [[nodiscard]] int current_row() const;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;

 private:
  [[nodiscard]] QString sentence(int row) const;

  HeatsPointer heats_;
};

/// "waiting", "wrong result", ...
[[nodiscard]] QString state_text(HeatState state);

/// One heat's square. Each state has its own drawing or letter in addition to its colour.
void paint_heat_mark(QPainter& painter, const QRect& square, HeatState state,
                     const QPalette& palette);

/// The heats of the live run as small squares, wrapped into lines; one is selected by mouse or
/// arrow keys. Also the legend of the squares, with the number of each kind.
class HeatsView : public QListView {
  Q_OBJECT
 public:
  explicit HeatsView(HeatsModel* heats, QWidget* parent = nullptr);

 Q_SIGNALS:
  /// The sentence of the selected heat; empty: none is selected.
  void chosen(const QString& sentence);

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void currentChanged(const QModelIndex& current, const QModelIndex& previous) override;

 private:
  /// As high as its lines, up to a maximum, beyond which it scrolls.
  void fit();

  HeatsModel* heats_;
};

class HeatsLegend : public QWidget {
  Q_OBJECT
 public:
  explicit HeatsLegend(HeatsModel* heats, QWidget* parent = nullptr);
  /// "12 measured, 1 being measured, 8 waiting"
  [[nodiscard]] QString text() const;

 private:
  void count();

  HeatsModel* heats_;
  std::vector<QWidget*> entries_;  // by state
};

/// The state of the live run: heats done, the current contender, time left, every heat as a square,
/// and a button to pause it.
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
  QWidget* grid_;  // heats, legend and the sentence of the selected heat
  std::optional<bool>
      heats_requested_;  // the user's choice; otherwise it depends on the window's size
  QString uuid_;
  Progress progress_;
  // The fraction of the run's heats done when it was first shown, the seconds of measuring since
  // then, and the time when it was last shown while being measured.
  double share_at_first_ = 0, seconds_seen_ = 0;
  std::optional<Time> seen_;
  std::optional<bool> pause_requested_;  // requested, and not yet visible in the run's progress
};

}  // namespace attnscope::gui
