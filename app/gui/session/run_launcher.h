#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Starts runs as detached processes, pauses and cancels them. The window only follows what they
// commit, so closing it never ends a run, and a window opened later finds the run through the
// store.

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

  /// Writes the sweep beside the database's runs and starts `attnscope run` on it.
  void start(const std::string& sweep_text);
  /// Goes on with an interrupted or cancelled run: only what is not finished.
  void resume(const RunInfo& run);
  /// Measures what a stored run measured, as a new run.
  void again(const RunInfo& run);
  /// Interrupts the run's process, if it is still the one that wrote the run.
  void cancel(const RunInfo& run);
  /// Lets the run wait when its heat is done, whoever started it.
  void pause(const RunInfo& run);
  void go_on(const RunInfo& run);
  /// Lets the launcher see which of its children have begun their run.
  void see_runs(const RunListPointer& runs);

 Q_SIGNALS:
  void starting();
  void started(const QString& uuid);
  /// The process ended before its run began, or cannot be started; the sentence is its own.
  void failed(const QString& sentence);

 private:
  struct Child {
    qint64 process_id = 0;
    QString log;    // its standard error
    int looks = 0;  // after its end
  };
  /// With the run's UUID behind the option.
  void start_on_run(const QString& option, const RunInfo& run);
  /// `stem` names the child's files in the folder of started runs.
  void start_child(const QStringList& arguments, const QString& stem);
  void watch();

  std::filesystem::path database_;
  std::vector<Child> children_;  // started, but not yet seen in the store
  RunListPointer runs_;
  QTimer watch_;
};

}  // namespace attnscope::gui
