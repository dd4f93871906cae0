#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Starts runs and trainings as detached processes, pauses and cancels them. The window only reads
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

  /// Programs whose contenders later runs can use in addition to the built-in ones.
  void set_programs(const QStringList& programs) { programs_ = programs; }
  /// Writes the sweep next to the database's runs and starts `attnscope run` on it.
  /// `now`: without waiting for other measurements.
  void start(const std::string& sweep_text, bool now = false);
  /// Continues an interrupted or cancelled run: measures only what is not finished.
  void resume(const RunInfo& run);
  /// Repeats the measurements of a stored run, as a new run.
  void measure_again(const RunInfo& run);
  /// Interrupts the run's process, if it is still the process that wrote the run.
  void cancel(const RunInfo& run);
  /// Pauses the run after its current heat, regardless of which process started it.
  void pause(const RunInfo& run);
  void continue_run(const RunInfo& run);
  /// Starts `attnscope train`, which writes to `folder`. An empty pattern: the checkpoint's.
  void train(QStringList arguments, const std::string& pattern_text, const QString& folder);
  /// Stops after the current step; calling train() with the same arguments continues.
  void stop_training(const QString& folder);
  /// Whether a training that was started here is running in the folder.
  [[nodiscard]] bool is_training(const QString& folder) const;
  /// Updates which child processes have begun their run.
  void set_runs(const RunListPointer& runs);

 Q_SIGNALS:
  void starting();
  void started(const QString& uuid);
  /// The process ended before its run began, or cannot be started; the sentence is its own message.
  void failed(const QString& sentence);
  /// The curve file exists.
  void training_begun(const QString& folder);
  /// The training ended before it began; the sentence is its own message.
  void training_refused(const QString& sentence);
  /// `is_complete`: its model was written.
  void training_ended(const QString& folder, const QString& sentence, bool is_complete);

 private:
  struct Child {
    qint64 process_id = 0;
    QString log = {};             // its standard error
    int checks_after_end = 0;     // checks after its end
    QString folder = {};          // of a training
    QDateTime curve_before = {};  // time of the folder's earlier curve
    bool has_begun = false;       // whether the training has begun
  };
  /// Passes the run's UUID after the option.
  void start_on_run(const QString& option, const RunInfo& run);
  /// Returns an empty string, or the reason why it cannot be started.
  [[nodiscard]] QString start_child(const QStringList& arguments, Child child);
  /// Adds the database, for a run.
  void start_run_child(QStringList arguments, const QString& stem);
  /// False: it has ended.
  [[nodiscard]] bool watch_training(Child& child);
  void watch();

  std::filesystem::path database_;
  QStringList programs_;
  std::vector<Child> children_;  // started, but not yet found in the store
  RunListPointer runs_;
  QTimer watch_;
};

}  // namespace attnscope::gui
