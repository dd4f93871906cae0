#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// StoreThread's other half: owns the Store and lives on the store's thread.

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>
#include <deque>
#include <filesystem>
#include <functional>
#include <optional>

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
  void remove_run(const QString& uuid);
  void export_runs(const QStringList& uuids, const QString& file);
  void import_file(const QString& file);
  void look();

 Q_SIGNALS:
  void opened();
  void refused(const QString& sentence);
  void waiting(const QString& sentence);
  void waited();
  void runs_changed(const attnscope::gui::RunListPointer& runs);
  void run_read(const attnscope::gui::RunPointer& run);
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
  void read_shown();
  void read_shown_if_it_grew();
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
  std::optional<RunRequest> shown_;
  // What of the shown run the last snapshot held: it is read again only when one of these moves.
  int shown_heats_ = -1;
  RunStatus shown_status_ = RunStatus::running;
  QElapsedTimer since_read_;
};

}  // namespace attnscope::gui
