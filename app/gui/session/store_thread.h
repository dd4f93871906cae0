#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The store, on a thread of its own. It watches the file about twice a second for what other
// processes commit, reads on its thread and hands the window immutable snapshots.
//
//   StoreThread store(default_database());
//   connect(&store, &StoreThread::runs_changed, list, &RunListModel::set_runs);
//   store.start();
//   store.show_run({.uuid = "..."});

#include <QObject>
#include <QThread>
#include <filesystem>

#include "app/gui/session/integrity_check.h"
#include "app/gui/session/snapshot.h"

namespace attnscope::gui {

class StoreReader;

class StoreThread : public QObject {
  Q_OBJECT
 public:
  explicit StoreThread(std::filesystem::path database, QObject* parent = nullptr);
  ~StoreThread() override;

  /// How often a request is tried while another process holds the database; before start().
  void set_most_tries(int tries);
  void start();
  [[nodiscard]] const std::filesystem::path& database() const { return database_; }

  // Requests; each is answered by a signal, in order.
  void show_run(const RunRequest& request);
  void remove_run(const QString& uuid);
  void export_runs(const QStringList& uuids, const QString& file);
  void import_file(const QString& file);
  /// Looks at the file now instead of at the next tick.
  void refresh();
  /// Tries again after `refused`.
  void open_again();

 Q_SIGNALS:
  void opened();
  /// The store cannot be used at all; the sentence says why and how to mend it.
  void refused(const QString& sentence);
  /// Another process holds the database: requests and reading go on by themselves when it is free.
  void waiting(const QString& sentence);
  void waited();
  void runs_changed(const attnscope::gui::RunListPointer& runs);
  void run_read(const attnscope::gui::RunPointer& run);
  /// The check in the background found damage; the sentence names the runs and the way out.
  void damaged(const QString& sentence);
  /// What a request came to.
  void succeeded(const QString& sentence);
  void failed(const QString& sentence);

 private:
  void check_when_idle(const RunListPointer& runs);

  std::filesystem::path database_;
  QThread thread_;
  IntegrityCheck check_;
  bool checked_ = false;
  StoreReader* reader_;  // lives on thread_, deleted when it finishes
};

}  // namespace attnscope::gui
