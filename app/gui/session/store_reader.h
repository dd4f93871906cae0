#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// StoreThread's other half: owns the Store and lives on the store's thread.

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>
#include <filesystem>
#include <optional>

#include "app/gui/session/snapshot.h"
#include "engine/store/store.h"

namespace attnscope::gui {

class StoreReader : public QObject {
  Q_OBJECT
 public:
  explicit StoreReader(std::filesystem::path database);

  void open();
  void show_run(const RunRequest& request);
  void remove_run(const QString& uuid);
  void export_runs(const QStringList& uuids, const QString& file);
  void import_file(const QString& file);
  void look();

 Q_SIGNALS:
  void opened();
  void refused(const QString& sentence);
  void runs_changed(const attnscope::gui::RunListPointer& runs);
  void run_read(const attnscope::gui::RunPointer& run);
  void succeeded(const QString& sentence);
  void failed(const QString& sentence);

 private:
  void read_list();
  void read_shown();
  void read_shown_if_it_grew();
  [[nodiscard]] bool writable();

  std::filesystem::path database_;
  std::optional<Store> store_;
  bool read_only_ = false;
  QTimer* tick_ = nullptr;
  std::int64_t seen_version_ = -1;
  RunListPointer list_;
  std::optional<RunRequest> shown_;
  // What of the shown run the last snapshot held: it is read again only when one of these moves.
  int shown_heats_ = -1;
  RunStatus shown_status_ = RunStatus::running;
  QElapsedTimer since_read_;
};

}  // namespace attnscope::gui
