// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/store_reader.h"

#include <algorithm>
#include <utility>

#include "app/gui/session/read_run.h"
#include "app/gui/session/text.h"

namespace attnscope::gui {
namespace {

constexpr int tick_ms = 500;
// A chart that repaints at 2 Hz or less disturbs measured threads by 1-2% only.
constexpr qint64 least_ms_between_reads = 1000;

bool is_run_file(const std::filesystem::path& file) {
  return file.extension() == ".attn";
}

const RunEntry* find(const RunListPointer& list, const QString& uuid) {
  if (!list) return nullptr;
  const std::string wanted = uuid.toStdString();
  const auto found = std::find_if(list->runs.begin(), list->runs.end(), [&](const RunEntry& entry) {
    return entry.info.id.uuid == wanted;
  });
  return found == list->runs.end() ? nullptr : &*found;
}

}  // namespace

StoreReader::StoreReader(std::filesystem::path database) : database_(std::move(database)) {}

void StoreReader::open() {
  if (store_) return;
  read_only_ = is_run_file(database_);
  if (!read_only_ && database_.has_parent_path()) {
    std::error_code ignored;  // the store says what is wrong with the place
    std::filesystem::create_directories(database_.parent_path(), ignored);
  }
  Result<Store> store =
      Store::open(database_, read_only_ ? Store::Mode::read_only : Store::Mode::read_write);
  if (!store) {
    Q_EMIT refused(words(store.error().message));
    return;
  }
  store_ = std::move(*store);
  Q_EMIT opened();
  tick_ = new QTimer(this);
  connect(tick_, &QTimer::timeout, this, &StoreReader::look);
  look();
  tick_->start(tick_ms);
}

void StoreReader::look() {
  if (!store_) return;
  const Result<std::int64_t> version = store_->data_version();
  if (!version) {
    Q_EMIT failed(words(version.error().message));
    return;
  }
  // A run whose process dies commits nothing, so live runs are looked at on every tick.
  const bool some_live =
      list_ && std::any_of(list_->runs.begin(), list_->runs.end(),
                           [](auto& run) { return run.info.status == RunStatus::running; });
  const bool dead =
      some_live && std::any_of(list_->runs.begin(), list_->runs.end(), [](auto& run) {
        return run.info.status == RunStatus::running &&
               !is_alive(run.info.start.process_id, run.info.start.process_start_ticks);
      });
  if (*version != seen_version_ || dead) {
    seen_version_ = *version;
    read_list();
  }
  read_shown_if_it_grew();
}

void StoreReader::read_list() {
  Result<RunListPointer> list = read_run_list(*store_);
  if (!list) {
    Q_EMIT failed(words(list.error().message));
    return;
  }
  list_ = *list;
  Q_EMIT runs_changed(list_);
}

void StoreReader::read_shown_if_it_grew() {
  if (!shown_) return;
  const RunEntry* entry = find(list_, shown_->uuid);
  if (!entry) return;
  const bool same = entry->info.heats_done == shown_heats_ && entry->info.status == shown_status_;
  const bool too_soon = since_read_.isValid() && since_read_.elapsed() < least_ms_between_reads &&
                        entry->info.status == RunStatus::running;
  if (!same && !too_soon) read_shown();
}

void StoreReader::read_shown() {
  if (!store_ || !shown_) return;
  const RunPointer run = read_run(*store_, *shown_);
  shown_heats_ = run->table.run.heats_done;
  shown_status_ = run->table.run.status;
  since_read_.start();
  Q_EMIT run_read(run);
}

void StoreReader::show_run(const RunRequest& request) {
  shown_.reset();
  if (request.uuid.isEmpty()) return;
  shown_ = request;
  read_shown();
}

bool StoreReader::writable() {
  if (store_ && !read_only_) return true;
  Q_EMIT failed(store_ ? tr("%1 is a run file and opened read-only: import it into your database "
                            "to change it.")
                             .arg(words(database_.string()))
                       : tr("The database is not open."));
  return false;
}

void StoreReader::remove_run(const QString& uuid) {
  if (!writable()) return;
  if (const Status removed = store_->remove_run(RunId{uuid.toStdString()}); !removed) {
    Q_EMIT failed(words(removed.error().message));
    return;
  }
  if (shown_ && shown_->uuid == uuid) shown_.reset();
  read_list();
}

void StoreReader::export_runs(const QStringList& uuids, const QString& file) {
  if (!store_) return;
  std::vector<RunId> runs;
  for (const QString& uuid : uuids) runs.push_back(RunId{uuid.toStdString()});
  const Status written = store_->export_runs(runs, std::filesystem::path(file.toStdString()));
  if (!written) {
    Q_EMIT failed(words(written.error().message));
    return;
  }
  Q_EMIT succeeded(
      tr("Exported %n run(s) to %1", nullptr, static_cast<int>(runs.size())).arg(file));
}

void StoreReader::import_file(const QString& file) {
  if (!writable()) return;
  const Result<Store::Imported> imported =
      store_->import_file(std::filesystem::path(file.toStdString()));
  if (!imported) {
    Q_EMIT failed(words(imported.error().message));
    return;
  }
  read_list();
  Q_EMIT succeeded(
      tr("Imported %1 run(s), %2 already there").arg(imported->added).arg(imported->already_there));
}

}  // namespace attnscope::gui
