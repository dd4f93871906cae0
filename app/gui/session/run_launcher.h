#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Starts runs and trainings as detached processes, pauses and cancels them. The window only follows
// what they commit, so closing it never ends a run, and a window opened later finds the run through
// the store.

#include <QDateTime>
#include <QObject>
#include <QStringList>
#include <QTimer>
#include <filesystem>
#include <string>
#include <vector>

#include "app/gui/session/snapshot.h"

namespace attnscope::gui {

class RunLauncher : public QObject {
  Q_OBJECT
 public:
  explicit RunLauncher(std::filesystem::path database, QObject* parent = nullptr);

  /// Whose contenders runs may have from now on besides the built-in ones.
  void set_programs(const QStringList& programs) { programs_ = programs; }
  /// Writes the sweep beside the database's runs and starts `attnscope run` on it.
  /// `now`: without waiting for other measurements.
  void start(const std::string& sweep_text, bool now = false);
  /// Goes on with an interrupted or cancelled run: only what is not finished.
  void resume(const RunInfo& run);
  /// Measures what a stored run measured, as a new run.
  void again(const RunInfo& run);
  /// Interrupts the run's process, if it is still the one that wrote the run.
  void cancel(const RunInfo& run);
  /// Lets the run wait when its heat is done, whoever started it.
  void pause(const RunInfo& run);
  void go_on(const RunInfo& run);
  /// Starts `attnscope train`; what it writes lies in `folder`. An empty pattern: the checkpoint's.
  void train(QStringList arguments, const std::string& pattern_text, const QString& folder);
  /// Behind its step; the same call goes on with it.
  void stop_training(const QString& folder);
  /// One that was started here.
  [[nodiscard]] bool is_training(const QString& folder) const;
  /// Lets the launcher see which of its children have begun their run.
  void see_runs(const RunListPointer& runs);

 Q_SIGNALS:
  void starting();
  void started(const QString& uuid);
  /// The process ended before its run began, or cannot be started; the sentence is its own.
  void failed(const QString& sentence);
  /// Its curve is there.
  void training_begun(const QString& folder);
  /// It ended before; the sentence is its own.
  void training_refused(const QString& sentence);
  /// `is_whole`: its model is there.
  void training_ended(const QString& folder, const QString& sentence, bool is_whole);

 private:
  struct Child {
    qint64 process_id = 0;
    QString log = {};             // its standard error
    int looks = 0;                // after its end
    QString folder = {};          // of a training
    QDateTime curve_before = {};  // that its folder had
    bool has_begun = false;       // the training
  };
  /// With the run's UUID behind the option.
  void start_on_run(const QString& option, const RunInfo& run);
  /// Empty, or why it cannot be started.
  [[nodiscard]] QString start_child(const QStringList& arguments, Child child);
  /// With the database, for a run.
  void start_run_child(QStringList arguments, const QString& stem);
  /// False: it has ended.
  [[nodiscard]] bool watch_training(Child& child);
  void watch();

  std::filesystem::path database_;
  QStringList programs_;
  std::vector<Child> children_;  // started, but not yet seen in the store
  RunListPointer runs_;
  QTimer watch_;
};

}  // namespace attnscope::gui
