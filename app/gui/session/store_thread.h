#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The store's reader, on a thread of its own.
//
//   StoreThread store(default_database());
//   connect(store.reader(), &StoreReader::runs_changed, list, &RunListModel::set_runs);
//   store.start();
//   store.post(&StoreReader::show_run, RunRequest{.uuid = "..."});

#include <QThread>
#include <filesystem>
#include <type_traits>
#include <utility>

#include "app/gui/session/store_reader.h"

namespace attnscope::gui {

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
