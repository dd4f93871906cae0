#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Runs with made-up numbers, written through the store as the driver writes real ones.

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/models/run_list_model.h"
#include "app/gui/session/snapshot.h"
#include "app/gui/session/store_reader.h"
#include "engine/store/store.h"
#include "tests/gui/gui_test.h"

namespace attnscope::gui {

[[nodiscard]] Contender contender(const std::string& pattern, const std::string& implementation,
                                  std::optional<Window> window = std::nullopt);
/// full/dense, full/sdpa and sparse/segment at w = 4.
[[nodiscard]] std::vector<Contender> three_contenders();

/// Times grow with the length, quadratically for `full`; one cell of `full/dense` above 4096 tokens
/// is `oom`.
[[nodiscard]] HeatResult made_up_heat(int index, std::int64_t tokens,
                                      const std::vector<Contender>& contenders);

[[nodiscard]] NewRun new_run(const std::string& name, int heats_planned);

/// A store opened for writing; aborts on failure.
[[nodiscard]] Store open_store(const std::filesystem::path& file);
/// A running run with these heats.
[[nodiscard]] RunId begin_run_with(Store& store, const std::string& name,
                                   const std::vector<std::int64_t>& lengths, int heats_planned);
/// The same, finished.
[[nodiscard]] RunId add_done_run(Store& store, const std::string& name,
                                 const std::vector<std::int64_t>& lengths);

/// The base of suites that read runs from a store in a temporary folder.
class StoreSuite : public QObject {
 protected:
  /// Opens an empty store.
  void open();
  [[nodiscard]] QString path(const char* name) const {
    return folder_->filePath(QLatin1String(name));
  }
  [[nodiscard]] RunPointer read(const RunId& run, RunRequest request = {}) const;

  std::unique_ptr<QTemporaryDir> folder_;
  std::unique_ptr<Store> store_;
};

/// The widgets that Tab reaches from this one.
[[nodiscard]] std::set<QWidget*> reached_by_tab(QWidget* from);
/// Whether assistive technology has a name for the widget.
[[nodiscard]] bool is_named(const QWidget* widget);

/// A store thread, with the list of its runs and the runs read as received on this thread.
class StoreClient {
 public:
  explicit StoreClient(const std::filesystem::path& database);
  /// Waits until the list has this many runs.
  void start(int runs = 0);
  template <typename... Arguments>
  void post(Arguments&&... arguments) {
    thread_.post(std::forward<Arguments>(arguments)...);
  }
  [[nodiscard]] StoreReader* reader() { return thread_.reader(); }
  [[nodiscard]] const RunListModel& list() const { return list_; }
  [[nodiscard]] const RunEntry* entry(const RunId& run) const;
  [[nodiscard]] int runs_read() const { return read_.count(); }
  [[nodiscard]] RunPointer last_run() const;

 private:
  StoreThread thread_;
  RunListModel list_;
  SignalLog<StoreReader, const RunPointer&> read_;
};

}  // namespace attnscope::gui
