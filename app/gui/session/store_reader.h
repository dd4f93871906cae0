#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// StoreThread's other half: owns the Store and lives on the store's thread.

#include <QElapsedTimer>
#include <QObject>
#include <QThreadPool>
#include <QTimer>
#include <deque>
#include <filesystem>
#include <functional>
#include <optional>

#include "app/gui/session/heats.h"
#include "app/gui/session/machine_ceilings.h"
#include "app/gui/session/snapshot.h"
#include "engine/store/store.h"

namespace attnscope::gui {

class StoreReader : public QObject {
  Q_OBJECT
 public:
  explicit StoreReader(std::filesystem::path database);

  void set_most_tries(int tries) { most_tries_ = tries; }
  void open();
  void show_run(const RunRequest& request);
  void describe_run(const QString& uuid, const RunWords& words);
  void change_tags(const QStringList& uuids, const QStringList& added, const QStringList& removed);
  void put_in_trash(const QStringList& uuids);
  void take_from_trash(const QStringList& uuids);
  void remove_runs(const QStringList& uuids);
  void empty_trash();
  void export_runs(const QStringList& uuids, const QString& file);
  void import_file(const QString& file);
  /// Opens another database, reads its list and closes it.
  void try_database(const QString& file);
  /// On a thread of its own.
  void compare_runs(const QString& uuid_a, const QString& uuid_b);
  /// Opens FOLDER/*/run.attn one after the other, other requests between them.
  void read_published(const std::filesystem::path& folder);
  void read_ceilings();
  void look();

 Q_SIGNALS:
  void opened();
  void warned(const QString& sentence);
  void refused(const QString& sentence);
  void waiting(const QString& sentence);
  void waited();
  void runs_changed(const attnscope::gui::RunListPointer& runs);
  /// Of the live run; null: there is none.
  void heats_read(const attnscope::gui::HeatsPointer& heats);
  void published_read(const attnscope::gui::PublishedPointer& runs);
  void run_read(const attnscope::gui::RunPointer& run);
  void compared(const attnscope::gui::ComparisonPointer& comparison);
  void trashed(const QStringList& uuids, const QString& sentence);
  void ceilings_read(const attnscope::gui::MachineCeilings& machine);
  void file_imported(const QString& file, const QString& uuid);
  void database_tried(const QString& file, const QString& problem);
  void succeeded(const QString& sentence);
  void failed(const QString& sentence);

 private:
  /// Asked for by a person: tried again at every tick while another process holds the database.
  struct Request {
    std::function<Status()> ask;
    int tries = 0;
  };

  void tick();
  void read_list();
  void read_live_heats();
  void read_shown();
  void read_shown_if_it_grew();
  void read_next_published();
  /// Where the run is: in the database, or in a published file, which stays open while it is shown.
  [[nodiscard]] const Store* store_of(const QString& uuid);
  /// The file that holds the run; the database's own where it is not a published one.
  [[nodiscard]] std::filesystem::path file_of(const QString& uuid) const;
  /// After a request changed what lists show of these runs.
  void words_changed(const QStringList& uuids);
  [[nodiscard]] bool writable();
  void ask(std::function<Status()> request);
  void ask_again();
  /// An error of reading: waits where a lock is the reason, else says it, once.
  void cannot_read(const Error& error);
  void could_read();
  void wait_for_lock();
  void end_wait_if_free();

  std::filesystem::path database_;
  std::optional<Store> store_;
  bool read_only_ = false;
  QTimer* tick_ = nullptr;
  std::deque<Request> requests_;  // not done yet, in order
  int most_tries_ = 90;           // with the ticks between them about a minute
  bool reading_waits_ = false;    // for the same lock
  bool is_waiting_ = false;       // and the window was told so
  QString said_;  // the last error of reading, so that it is not said twice a second
  std::int64_t seen_version_ = -1;
  RunListPointer list_;
  HeatsPointer heats_;  // of the live run
  std::deque<std::filesystem::path> to_publish_;
  std::shared_ptr<PublishedSnapshot> publishing_;
  PublishedPointer published_;
  std::optional<Store> published_store_;  // of the published run that was shown last
  std::optional<RunRequest> shown_;
  RunPointer last_read_;  // another slice of the same cells is cut from it
  // What of the shown run the last snapshot held: it is read again only when one of these moves.
  int shown_heats_ = -1;
  RunStatus shown_status_ = RunStatus::running;
  QElapsedTimer since_read_;
  QThreadPool comparing_;  // last, so that it has ended before anything else goes
};

}  // namespace attnscope::gui
