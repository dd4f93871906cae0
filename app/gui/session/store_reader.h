#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Owns the Store, on its own thread. Polls the file about twice a second for commits of other
// processes and passes immutable snapshots to the window. Requests are answered with signals, in
// order.
//
//   StoreThread store(default_database());
//   connect(store.reader(), &StoreReader::runs_changed, list, &RunListModel::set_runs);
//   store.start();
//   store.post(&StoreReader::show_run, RunRequest{.uuid = "..."});

#include <QElapsedTimer>
#include <QObject>
#include <QThread>
#include <QThreadPool>
#include <QTimer>
#include <atomic>
#include <deque>
#include <filesystem>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "app/gui/session/snapshot.h"
#include "engine/store/store.h"

namespace attnscope::gui {

class StoreReader : public QObject {
  Q_OBJECT
 public:
  explicit StoreReader(std::filesystem::path database);
  /// Ends a running check.
  ~StoreReader() override;

  /// Number of attempts for a request while another process holds the database; set before opening.
  void set_most_tries(int tries) { most_tries_ = tries; }
  /// Also retries after `refused` and `gone`.
  void open();
  void show_run(const RunRequest& request);
  void rename_run(const QString& uuid, const QString& name);
  /// `before`: the note that was edited into this one. If another process has changed it too, both
  /// texts are kept.
  void write_note(const QString& uuid, const QString& note, const QString& before);
  void change_tags(const QStringList& uuids, const QStringList& added, const QStringList& removed);
  void put_in_trash(const QStringList& uuids);
  void take_from_trash(const QStringList& uuids);
  /// Deletes permanently.
  void remove_runs(const QStringList& uuids);
  void empty_trash();
  void export_runs(const QStringList& uuids, const QString& file);
  void import_file(const QString& file);
  /// Checks whether a window could use this database, without changing it; the current one stays
  /// open.
  void try_database(const QString& file);
  /// Runs on a separate thread.
  void compare_runs(const QString& uuid_a, const QString& uuid_b);
  /// Reads FOLDER/*/run.attn.gz and run.attn on a separate thread; these runs are then shown like
  /// the database's, read-only.
  void read_published(const std::filesystem::path& folder);
  /// Reads the ceilings of the newest run that measured them; no reply if there is none.
  void read_ceilings();
  /// Checks the file now instead of at the next tick.
  void poll();

 Q_SIGNALS:
  void opened();
  /// After opened(): a warning about a usable database, such as one on a network file system.
  void warned(const QString& sentence);
  /// The store cannot be used at all; the sentence gives the reason and the remedy.
  void refused(const QString& sentence);
  /// Another process holds the database: requests and reading continue automatically when it is
  /// free.
  void waiting(const QString& sentence);
  void lock_released();
  void runs_changed(const attnscope::gui::RunListPointer& runs);
  /// Heats of the live run, whenever the state of one changes; null: no run is live.
  void heats_read(const attnscope::gui::HeatsPointer& heats);
  void published_read(const attnscope::gui::PublishedPointer& runs);
  void run_read(const attnscope::gui::RunPointer& run);
  void compared(const attnscope::gui::ComparisonPointer& comparison);
  /// These runs were moved to the trash, as the sentence states.
  void trashed(const QStringList& uuids, const QString& sentence);
  void ceilings_read(const attnscope::gui::MachineCeilings& machine);
  /// The background check found damage; the sentence names these runs and the remedy.
  void damaged(const QStringList& uuids, const QString& sentence);
  /// `uuid`: the newest run of the file.
  void file_imported(const QString& file, const QString& uuid);
  /// An empty problem: the database is usable.
  void database_tried(const QString& file, const QString& problem);
  /// The file was renamed or replaced by another; open() opens the new one.
  void gone(const QString& sentence);
  /// A name, a note or the tags of some runs have been stored, or refused with `failed`.
  void text_written();
  /// The user's text, if it cannot be stored.
  void text_refused(const QString& typed, const QString& sentence);
  /// The outcome of a request.
  void succeeded(const QString& sentence);
  void failed(const QString& sentence);

 private:
  /// A user request: retried at every tick while another process holds the database.
  struct Request {
    std::function<Status()> run;
    std::function<void(const Status&)> end = {};
    /// How lists show these runs until then. The user's texts are never discarded because of a
    /// lock.
    QStringList uuids = {};
    std::function<void(RunInfo&)> show = {};
    int tries = 0;
  };

  void tick();
  void read_list();
  void check_when_idle();
  void read_shown();
  void read_shown_if_it_grew();
  /// The store of the run: the database, or a published file, which stays open while it is shown.
  [[nodiscard]] const Store* store_of(const QString& uuid);
  /// The file that holds the run; the database's own unless the run is published.
  [[nodiscard]] std::filesystem::path file_of(const QString& uuid) const;
  /// Stores `typed`, the user's text for these runs, which lists show at once.
  void write_text(const QStringList& uuids, const QString& typed, std::function<Status()> write,
                  std::function<void(RunInfo&)> show);
  /// Emits the list as read, with the texts that wait to be stored.
  void report_list();
  [[nodiscard]] bool writable();
  /// Executes the request if the database is writable. `end` receives the outcome.
  void change(Request request);
  void enqueue(Request request);
  void change(std::function<Status()> request) { change(Request{.run = std::move(request)}); }
  void enqueue(std::function<Status()> request) { enqueue(Request{.run = std::move(request)}); }
  void run_requests();
  /// Handles a read error: waits if a lock is the reason, otherwise reports it once.
  void read_failed(const Error& error);
  void read_succeeded();
  void wait_for_lock();
  void end_wait_if_free();

  std::filesystem::path database_;
  std::optional<Store> store_;
  bool read_only_ = false;
  QTimer* tick_ = nullptr;
  std::deque<Request> requests_;  // pending, in order
  int most_tries_ = 90;           // about a minute, with the ticks between them
  bool reading_waits_ = false;    // for the same lock
  bool is_waiting_ = false;       // and the window was notified
  bool is_gone_ = false;          // the file was replaced, and the window was notified
  QString reported_error_;        // the last read error, so that it is not reported twice a second
  std::int64_t seen_version_ = -1;
  RunListPointer list_;
  HeatsPointer heats_;  // of the live run
  PublishedPointer published_;
  std::optional<Store> published_store_;  // of the last published run shown
  std::optional<RunRequest> shown_;
  RunPointer last_read_;  // reused for another slice of the same cells
  // State of the shown run in the last snapshot: it is read again only if one of these changes.
  int shown_heats_ = -1;
  RunStatus shown_status_ = RunStatus::running;
  QElapsedTimer since_read_;
  bool checked_ = false;
  std::atomic<bool> stop_checking_{false};
  QThreadPool reading_, checking_;  // last: end before other members are destroyed
};

class StoreThread {
 public:
  explicit StoreThread(const std::filesystem::path& database);
  ~StoreThread();
  StoreThread(const StoreThread&) = delete;
  StoreThread& operator=(const StoreThread&) = delete;

  void start() { thread_.start(); }
  /// Only for connections, not for calls: its signals arrive on the receiver's thread, and its
  /// slots run on its own thread.
  [[nodiscard]] StoreReader* reader() const { return reader_; }
  /// Queues the request on the reader, after all requests posted before.
  template <typename... Wanted, typename... Given>
  void post(void (StoreReader::*request)(Wanted...), Given&&... given) const {
    QMetaObject::invokeMethod(
        reader_,
        [reader = reader_, request, ... kept = std::decay_t<Wanted>(std::forward<Given>(given))] {
          (reader->*request)(kept...);
        });
  }

 private:
  QThread thread_;
  StoreReader* reader_;  // lives on thread_, deleted when it finishes
};

}  // namespace attnscope::gui
