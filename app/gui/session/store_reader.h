#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Owns the Store, on a thread of its own. It watches the file about twice a second for what other
// processes commit, and hands the window immutable snapshots. Requests are answered by signals, in
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

#include "app/gui/session/heats.h"
#include "app/gui/session/snapshot.h"
#include "engine/store/store.h"

namespace attnscope::gui {

class StoreReader : public QObject {
  Q_OBJECT
 public:
  explicit StoreReader(std::filesystem::path database);
  /// Ends a check that is still at work.
  ~StoreReader() override;

  /// How often a request is tried while another process holds the database; before it is opened.
  void set_most_tries(int tries) { most_tries_ = tries; }
  /// Also tries again after `refused` and `gone`.
  void open();
  void show_run(const RunRequest& request);
  void rename_run(const QString& uuid, const QString& name);
  /// `before`: the note that was changed into this one. Where somebody else has changed it too,
  /// both texts are kept.
  void write_note(const QString& uuid, const QString& note, const QString& before);
  void change_tags(const QStringList& uuids, const QStringList& added, const QStringList& removed);
  void put_in_trash(const QStringList& uuids);
  void take_from_trash(const QStringList& uuids);
  /// For good.
  void remove_runs(const QStringList& uuids);
  void empty_trash();
  void export_runs(const QStringList& uuids, const QString& file);
  void import_file(const QString& file);
  /// Whether a window could be on this database, which stays as it is; this one stays open.
  void try_database(const QString& file);
  /// On a thread of its own.
  void compare_runs(const QString& uuid_a, const QString& uuid_b);
  /// Reads FOLDER/*/run.attn.gz and run.attn on a thread of its own; these runs are then shown like
  /// the database's, read-only.
  void read_published(const std::filesystem::path& folder);
  /// Of the newest run that measured what the processor can reach; unanswered when none has.
  void read_ceilings();
  /// Looks at the file now instead of at the next tick.
  void look();

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
  void run_read(const attnscope::gui::RunPointer& run);
  void compared(const attnscope::gui::ComparisonPointer& comparison);
  /// These runs are in the trash now; the sentence says so.
  void trashed(const QStringList& uuids, const QString& sentence);
  void ceilings_read(const attnscope::gui::MachineCeilings& machine);
  /// The check in the background found damage; the sentence names these runs and the way out.
  void damaged(const QStringList& uuids, const QString& sentence);
  /// Its newest run is this one.
  void file_imported(const QString& file, const QString& uuid);
  /// An empty problem: the database fits.
  void database_tried(const QString& file, const QString& problem);
  /// The file has not its name any more, or another has it; open() opens that.
  void gone(const QString& sentence);
  /// A name, a note or the tags of some runs have been stored, or refused with `failed`.
  void written_down();
  /// What a person wrote, when it cannot be stored.
  void words_refused(const QString& typed, const QString& sentence);
  /// What a request came to.
  void succeeded(const QString& sentence);
  void failed(const QString& sentence);

 private:
  /// Asked for by a person: tried again at every tick while another process holds the database.
  struct Request {
    std::function<Status()> ask;
    std::function<void(const Status&)> end = {};
    /// What a list shows of these runs meanwhile. What a person wrote is never given up to a lock.
    QStringList uuids = {};
    std::function<void(RunInfo&)> show = {};
    int tries = 0;
  };

  void tick();
  void read_list();
  void read_live_heats();
  void check_when_idle();
  void read_shown();
  void read_shown_if_it_grew();
  /// Where the run is: in the database, or in a published file, which stays open while it is shown.
  [[nodiscard]] const Store* store_of(const QString& uuid);
  /// The file that holds the run; the database's own where it is not a published one.
  [[nodiscard]] std::filesystem::path file_of(const QString& uuid) const;
  /// Stores what a person wrote of these runs, `typed`, which lists show meanwhile.
  void write_words(const QStringList& uuids, const QString& typed, std::function<Status()> write,
                   std::function<void(RunInfo&)> show);
  /// The list as it was read, with what waits to be stored.
  void tell_list();
  [[nodiscard]] bool writable();
  /// Asks where the database may be changed. `end` hears what becomes of it.
  void change(Request request);
  void ask(Request request);
  void change(std::function<Status()> request) { change(Request{.ask = std::move(request)}); }
  void ask(std::function<Status()> request) { ask(Request{.ask = std::move(request)}); }
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
  bool is_gone_ = false;          // likewise
  QString said_;  // the last error of reading, so that it is not said twice a second
  std::int64_t seen_version_ = -1;
  RunListPointer list_;
  HeatsPointer heats_;  // of the live run
  PublishedPointer published_;
  std::optional<Store> published_store_;  // of the published run that was shown last
  std::optional<RunRequest> shown_;
  RunPointer last_read_;  // another slice of the same cells is cut from it
  // What of the shown run the last snapshot held: it is read again only when one of these moves.
  int shown_heats_ = -1;
  RunStatus shown_status_ = RunStatus::running;
  QElapsedTimer since_read_;
  bool checked_ = false;
  std::atomic<bool> stop_checking_{false};
  QThreadPool reading_, checking_;  // last, so that they have ended before anything else goes
};

class StoreThread {
 public:
  explicit StoreThread(const std::filesystem::path& database);
  ~StoreThread();
  StoreThread(const StoreThread&) = delete;
  StoreThread& operator=(const StoreThread&) = delete;

  void start() { thread_.start(); }
  /// To connect to, not to call: what it says is heard on the thread of who hears it, and what it
  /// hears it does on its own.
  [[nodiscard]] StoreReader* reader() const { return reader_; }
  /// Has the reader do this when it is done with all that was posted before.
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
