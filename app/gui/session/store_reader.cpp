// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/store_reader.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "app/gui/session/read_run.h"
#include "app/gui/session/text.h"
#include "engine/store/locked.h"

namespace attnscope::gui {
namespace {

constexpr int tick_ms = 500;
// A chart that repaints at 2 Hz or less disturbs measured threads by 1-2% only.
constexpr qint64 least_ms_between_reads = 1000;
constexpr std::chrono::milliseconds busy_timeout{200};

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
  if (!tick_) {
    tick_ = new QTimer(this);
    connect(tick_, &QTimer::timeout, this, &StoreReader::tick);
  }
  read_only_ = is_run_file(database_);
  if (!read_only_ && database_.has_parent_path()) {
    std::error_code ignored;  // the store says what is wrong with the place
    std::filesystem::create_directories(database_.parent_path(), ignored);
  }
  Result<Store> store =
      Store::open(database_, read_only_ ? Store::Mode::read_only : Store::Mode::read_write);
  if (!store && is_locked(store.error())) {
    reading_waits_ = true;
    wait_for_lock();
    tick_->start(tick_ms);
    return;
  }
  if (!store) {
    tick_->stop();
    is_waiting_ = reading_waits_ = false;
    Q_EMIT refused(words(store.error().message));
    return;
  }
  store_ = std::move(*store);
  // Requests wait between their tries, so that the thread is never held for long.
  store_->set_busy_timeout(busy_timeout);
  Q_EMIT opened();
  could_read();
  look();
  tick_->start(tick_ms);
}

void StoreReader::tick() {
  if (!store_) return open();
  ask_again();
  look();
}

void StoreReader::look() {
  if (!store_) return;
  const Result<std::int64_t> version = store_->data_version();
  if (!version) return cannot_read(version.error());
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
    seen_version_ = -1;  // what changed has not been seen
    return cannot_read(list.error());
  }
  could_read();
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
  if (run->locked) {
    // What the window shows stays as it is until there is something newer.
    shown_heats_ = -1;
    reading_waits_ = true;
    return wait_for_lock();
  }
  could_read();
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

void StoreReader::cannot_read(const Error& error) {
  if (is_locked(error)) {
    reading_waits_ = true;
    return wait_for_lock();
  }
  reading_waits_ = false;
  end_wait_if_free();
  const QString sentence = words(error.message);
  if (sentence != std::exchange(said_, sentence)) Q_EMIT failed(sentence);
}

void StoreReader::could_read() {
  said_.clear();
  reading_waits_ = false;
  end_wait_if_free();
}

void StoreReader::wait_for_lock() {
  if (std::exchange(is_waiting_, true)) return;
  Q_EMIT waiting(tr("The database %1 is locked by another process; waiting until it is free.")
                     .arg(words(database_.string())));
}

void StoreReader::end_wait_if_free() {
  if (reading_waits_ || !requests_.empty()) return;
  if (std::exchange(is_waiting_, false)) Q_EMIT waited();
}

bool StoreReader::writable() {
  if (store_ && !read_only_) return true;
  Q_EMIT failed(store_ ? tr("%1 is a run file and opened read-only: import it into your database "
                            "to change it.")
                             .arg(words(database_.string()))
                       : tr("The database is not open."));
  return false;
}

void StoreReader::ask(std::function<Status()> request) {
  requests_.push_back({std::move(request)});
  // Later requests wait behind one that waits: they may depend on it.
  if (requests_.size() == 1) ask_again();
}

void StoreReader::ask_again() {
  while (!requests_.empty()) {
    Request& first = requests_.front();
    const Status done = first.ask();
    if (!done && is_locked(done.error()) && ++first.tries < most_tries_) return wait_for_lock();
    requests_.pop_front();
    if (!done) Q_EMIT failed(words(done.error().message));
  }
  end_wait_if_free();
}

void StoreReader::remove_run(const QString& uuid) {
  if (!writable()) return;
  ask([this, uuid]() -> Status {
    Status removed = store_->remove_run(RunId{uuid.toStdString()});
    if (!removed) return removed;
    if (shown_ && shown_->uuid == uuid) shown_.reset();
    read_list();
    return {};
  });
}

void StoreReader::export_runs(const QStringList& uuids, const QString& file) {
  if (!store_) return;
  ask([this, uuids, file]() -> Status {
    std::vector<RunId> runs;
    for (const QString& uuid : uuids) runs.push_back(RunId{uuid.toStdString()});
    Status written = store_->export_runs(runs, std::filesystem::path(file.toStdString()));
    if (!written) return written;
    Q_EMIT succeeded(
        tr("Exported %n run(s) to %1", nullptr, static_cast<int>(runs.size())).arg(file));
    return {};
  });
}

void StoreReader::import_file(const QString& file) {
  if (!writable()) return;
  ask([this, file]() -> Status {
    const Result<Store::Imported> imported =
        store_->import_file(std::filesystem::path(file.toStdString()));
    if (!imported) return tl::unexpected(imported.error());
    read_list();
    Q_EMIT succeeded(tr("Imported %1 run(s), %2 already there")
                         .arg(imported->added)
                         .arg(imported->already_there));
    return {};
  });
}

}  // namespace attnscope::gui
