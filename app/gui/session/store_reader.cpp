// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/store_reader.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "app/gui/session/read_run.h"
#include "app/gui/session/text.h"

namespace attnscope::gui {
namespace {

constexpr int tick_ms = 500;
// A chart that repaints at 2 Hz or less disturbs measured threads by 1-2% only.
constexpr qint64 least_ms_between_reads = 1000;
constexpr std::chrono::milliseconds busy_timeout{200};

bool is_run_file(const std::filesystem::path& file) {
  return file.extension() == ".attn";
}

Result<Store> open_store(const std::filesystem::path& file) {
  return Store::open(file, is_run_file(file) ? Store::Mode::read_only : Store::Mode::read_write);
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
  Result<Store> store = open_store(database_);
  if (!store && store.error().kind == ErrorKind::locked) {
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
  if (!store_->warning().empty()) Q_EMIT warned(words(store_->warning()));
  could_read();
  look();
  tick_->start(tick_ms);
}

void StoreReader::try_database(const QString& file) {
  const Result<RunListPointer> list = open_store(file.toStdString()).and_then(read_run_list);
  // One that is locked fits: whoever opens it waits.
  const bool fits = list || list.error().kind == ErrorKind::locked;
  Q_EMIT database_tried(file, fits ? QString() : words(list.error().message));
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
  read_live_heats();
}

void StoreReader::read_live_heats() {
  const bool live = !list_->runs.empty() && list_->runs.front().info.status == RunStatus::running;
  const HeatsPointer before = heats_;
  heats_ = live ? read_heats(*store_, list_->runs.front(), before) : nullptr;
  if (heats_ != before) Q_EMIT heats_read(heats_);
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
  if (!shown_) return;
  const Store* store = store_of(shown_->uuid);
  if (store == nullptr) return;
  const RunPointer run = read_run(*store, *shown_, last_read_);
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
  last_read_ = run;
  Q_EMIT run_read(run);
}

void StoreReader::show_run(const RunRequest& request) {
  shown_.reset();
  if (request.uuid.isEmpty()) return;
  shown_ = request;
  read_shown();
}

void StoreReader::cannot_read(const Error& error) {
  if (error.kind == ErrorKind::locked) {
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

// What cannot be read now is asked for again when the page is next shown.
void StoreReader::read_ceilings() {
  if (!store_ || !list_) return;
  for (const RunEntry& entry : list_->runs) {
    const auto ceilings = store_->ceilings(entry.info.id);
    if (!ceilings) continue;
    for (auto rates = ceilings->rbegin(); rates != ceilings->rend(); ++rates) {
      if (rates->device != DeviceKind::cpu) continue;
      const QString from = tr("run %1, %2, on %3")
                               .arg(entry.info.number)
                               .arg(words(entry.info.start.sweep_name))
                               .arg(words(entry.info.start.device));
      Q_EMIT ceilings_read({*rates, from});
      return;
    }
  }
}

}  // namespace attnscope::gui
