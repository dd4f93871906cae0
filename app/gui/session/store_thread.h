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

#include "app/gui/session/heats.h"
#include "app/gui/session/integrity_check.h"
#include "app/gui/session/machine_ceilings.h"
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
  void describe_run(const QString& uuid, const RunWords& words);
  void change_tags(const QStringList& uuids, const QStringList& added, const QStringList& removed);
  void put_in_trash(const QStringList& uuids);
  void take_from_trash(const QStringList& uuids);
  /// For good.
  void remove_runs(const QStringList& uuids);
  void empty_trash();
  void compare_runs(const QString& uuid_a, const QString& uuid_b);
  void export_runs(const QStringList& uuids, const QString& file);
  void import_file(const QString& file);
  /// Whether a window could be on this database, which stays as it is; this one stays open.
  void try_database(const QString& file);
  /// Reads the runs under the folder, which are then shown like the database's, read-only.
  void read_published(const std::filesystem::path& folder);
  /// Of the newest run that measured what the processor can reach; unanswered when none has.
  void read_ceilings();
  /// Looks at the file now instead of at the next tick.
  void refresh();
  /// Tries again after `refused`.
  void open_again();

 Q_SIGNALS:
  void opened();
  /// After opened(): what the user should know of a database that can be used, such as one on a
  /// network file system.
  void warned(const QString& sentence);
  /// The store cannot be used at all; the sentence says why and how to mend it.
  void refused(const QString& sentence);
  /// Another process holds the database: requests and reading go on by themselves when it is free.
  void waiting(const QString& sentence);
  void waited();
  void runs_changed(const attnscope::gui::RunListPointer& runs);
  /// Of the live run, whenever one of them is in another state; null: no run is live.
  void heats_read(const attnscope::gui::HeatsPointer& heats);
  void published_read(const attnscope::gui::PublishedPointer& runs);
  void compared(const attnscope::gui::ComparisonPointer& comparison);
  void run_read(const attnscope::gui::RunPointer& run);
  void ceilings_read(const attnscope::gui::MachineCeilings& machine);
  /// The check in the background found damage; the sentence names the runs and the way out.
  void damaged(const QString& sentence);
  /// The same, for the list: which runs.
  void damage_found(const QStringList& uuids);
  /// These runs are in the trash now; the sentence says so.
  void trashed(const QStringList& uuids, const QString& sentence);
  /// Its newest run is this one.
  void file_imported(const QString& file, const QString& uuid);
  /// An empty problem: the database fits.
  void database_tried(const QString& file, const QString& problem);
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
