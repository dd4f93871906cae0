// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/store_reader.h"

#include <QThread>
#include <algorithm>
#include <chrono>
#include <utility>

#include "app/gui/session/snapshot.h"
#include "app/gui/session/text.h"
#include "engine/store/location.h"

namespace attnscope::gui {
namespace {

constexpr int tick_ms = 500;
// A chart that repaints at 2 Hz or less disturbs measured threads by only 1-2%.
constexpr qint64 least_ms_between_reads = 1000;
constexpr std::chrono::milliseconds busy_timeout{200};

Result<Store> open_store(const std::filesystem::path& file) {
  return Store::open(file,
                     store::is_exported(file) ? Store::Mode::read_only : Store::Mode::read_write);
}

const RunEntry* find(const std::vector<RunEntry>& entries, const QString& uuid) {
  const auto found = std::ranges::find(entries, uuid.toStdString(),
                                       [](const RunEntry& entry) { return entry.info.id.uuid; });
  return found == entries.end() ? nullptr : &*found;
}

bool has_live_run(const RunListPointer& list) {
  return list && std::ranges::any_of(list->runs, [](const RunEntry& run) {
           return run.info.status == RunStatus::running;
         });
}

std::vector<RunId> ids_of(const QStringList& uuids) {
  std::vector<RunId> ids;
  ids.reserve(static_cast<std::size_t>(uuids.size()));
  for (const QString& uuid : uuids) ids.push_back(RunId{uuid.toStdString()});
  return ids;
}

std::string changed_tag(const std::string& tag, const QStringList& added,
                        const QStringList& removed) {
  std::vector<std::string> kept = tag_words(harmless(tag));
  for (const QString& word : removed) std::erase(kept, word.toStdString());
  std::string text = tag_of(kept);
  for (const QString& word : added) text += ' ' + word.toStdString();
  return tag_of(tag_words(text));
}

struct RunInFile {
  std::filesystem::path file;
  QString uuid;
};

Result<report::Comparison> read_and_compare(const RunInFile& a, const RunInFile& b) {
  const Result<Store> store_a = Store::open(a.file, Store::Mode::read_only);
  if (!store_a) return tl::unexpected(store_a.error());
  const Result<Store> store_b = Store::open(b.file, Store::Mode::read_only);
  if (!store_b) return tl::unexpected(store_b.error());
  const Result<RunInfo> run_a = store_a->find_run(a.uuid.toStdString());
  if (!run_a) return tl::unexpected(run_a.error());
  const Result<RunInfo> run_b = store_b->find_run(b.uuid.toStdString());
  if (!run_b) return tl::unexpected(run_b.error());
  return report::compare_runs(*store_a, *run_a, *store_b, *run_b);
}

/// If a run cannot be read, the snapshot's problem states it.
ComparisonPointer compare(const RunInFile& a, const RunInFile& b) {
  auto snapshot = std::make_shared<ComparisonSnapshot>();
  snapshot->uuid_a = a.uuid;
  snapshot->uuid_b = b.uuid;
  Result<report::Comparison> comparison = read_and_compare(a, b);
  if (comparison) {
    snapshot->comparison = std::move(*comparison);
  } else {
    snapshot->problem = qstring(comparison.error().message);
  }
  return snapshot;
}

}  // namespace

StoreReader::StoreReader(std::filesystem::path database) : database_(std::move(database)) {
  checking_.setThreadPriority(QThread::IdlePriority);
}

StoreReader::~StoreReader() {
  stop_checking_ = true;
}

void StoreReader::open() {
  if (store_ && store_->is_at_its_place()) return;
  store_.reset();
  if (!tick_) {
    tick_ = new QTimer(this);
    connect(tick_, &QTimer::timeout, this, &StoreReader::tick);
  }
  read_only_ = store::is_exported(database_);
  if (!read_only_ && database_.has_parent_path()) {
    std::error_code ignored;  // opening the store reports the error
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
    Q_EMIT refused(qstring(store.error().message));
    return;
  }
  store_ = std::move(*store);
  // Requests wait between attempts, so that the thread is never blocked for long.
  store_->set_busy_timeout(busy_timeout);
  is_gone_ = false;
  seen_version_ = -1;
  Q_EMIT opened();
  if (!store_->warning().empty()) Q_EMIT warned(qstring(store_->warning()));
  read_succeeded();
  poll();
  tick_->start(tick_ms);
}

void StoreReader::try_database(const QString& file) {
  const Result<RunListPointer> list = open_store(file.toStdString()).and_then(read_run_list);
  // A locked database is usable: opening it waits.
  const bool fits = list || list.error().kind == ErrorKind::locked;
  Q_EMIT database_tried(file, fits ? QString() : qstring(list.error().message));
}

void StoreReader::tick() {
  if (!store_) return open();
  if (!is_gone_ && !store_->is_at_its_place()) {
    is_gone_ = true;
    Q_EMIT gone(tr("The database %1 was moved, deleted or replaced. The data read from it is still "
                   "shown, but nothing can be stored; open the database again.")
                    .arg(qstring(database_.string())));
  }
  run_requests();
  poll();
}

void StoreReader::poll() {
  if (!store_) return;
  const Result<std::int64_t> version = store_->data_version();
  if (!version) return read_failed(version.error());
  // A run whose process dies commits nothing, so live runs are checked on every tick.
  const bool dead =
      list_ && std::ranges::any_of(list_->runs, [](const RunEntry& run) {
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
    seen_version_ = -1;  // the change has not been read
    return read_failed(list.error());
  }
  read_succeeded();
  list_ = *list;
  report_list();
  const bool live = !list_->runs.empty() && list_->runs.front().info.status == RunStatus::running;
  const HeatsPointer before = heats_;
  heats_ = live ? read_heats(*store_, list_->runs.front(), before) : nullptr;
  if (heats_ != before) Q_EMIT heats_read(heats_);
  check_when_idle();
}

void StoreReader::report_list() {
  if (!list_) return;
  RunListPointer reported = list_;
  for (const Request& request : requests_) {
    if (!request.show) continue;
    auto with_text = std::make_shared<RunListSnapshot>(*reported);
    for (RunEntry& entry : with_text->runs) {
      if (!request.uuids.contains(qstring(entry.info.id.uuid))) continue;
      request.show(entry.info);
      entry.is_stored = false;
    }
    reported = with_text;
  }
  Q_EMIT runs_changed(reported);
}

void StoreReader::read_shown_if_it_grew() {
  const RunEntry* entry = shown_ && list_ ? find(list_->runs, shown_->uuid) : nullptr;
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
    // The window keeps its contents until newer data is available.
    shown_heats_ = -1;
    reading_waits_ = true;
    return wait_for_lock();
  }
  read_succeeded();
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

void StoreReader::read_failed(const Error& error) {
  if (error.kind == ErrorKind::locked) {
    reading_waits_ = true;
    return wait_for_lock();
  }
  reading_waits_ = false;
  end_wait_if_free();
  const QString sentence = qstring(error.message);
  if (sentence != std::exchange(reported_error_, sentence)) Q_EMIT failed(sentence);
}

void StoreReader::read_succeeded() {
  reported_error_.clear();
  reading_waits_ = false;
  end_wait_if_free();
}

void StoreReader::wait_for_lock() {
  if (std::exchange(is_waiting_, true)) return;
  Q_EMIT waiting(tr("The database %1 is locked by another process; waiting until it is free.")
                     .arg(qstring(database_.string())));
}

void StoreReader::end_wait_if_free() {
  if (reading_waits_ || !requests_.empty()) return;
  if (std::exchange(is_waiting_, false)) Q_EMIT lock_released();
}

// If reading fails now, it is requested again when the page is next shown.
void StoreReader::read_ceilings() {
  if (!store_ || !list_) return;
  // The latest, which need not have the highest number: others may have been imported.
  std::vector<const RunEntry*> latest;
  latest.reserve(list_->runs.size());
  for (const RunEntry& entry : list_->runs) latest.push_back(&entry);
  std::ranges::stable_sort(latest, std::ranges::greater(),
                           [](const RunEntry* run) { return run->info.started_unix_ms; });
  for (const RunEntry* entry : latest) {
    const auto ceilings = store_->ceilings(entry->info.id);
    if (!ceilings) continue;
    for (auto rates = ceilings->rbegin(); rates != ceilings->rend(); ++rates) {
      if (rates->device != DeviceKind::cpu) continue;
      const QString from = tr("run %1, %2, on %3")
                               .arg(entry->info.number)
                               .arg(qstring(entry->info.start.sweep_name))
                               .arg(qstring(entry->info.start.device));
      Q_EMIT ceilings_read({*rates, from});
      return;
    }
  }
}

/// Runs once, and not during a measurement.
void StoreReader::check_when_idle() {
  if (checked_ || has_live_run(list_)) return;
  checked_ = true;
  checking_.start([this] {
    const Result<Store> store = Store::open(database_, Store::Mode::read_only);
    if (!store) return;  // opening reports the error
    std::vector<RunId> runs;
    const Status sound = store->check_integrity(&stop_checking_, &runs);
    // A lock is not damage; the next window repeats the check.
    if (sound || stop_checking_ || sound.error().kind == ErrorKind::locked) return;
    QStringList uuids;
    for (const RunId& run : runs) uuids.append(qstring(run.uuid));
    Q_EMIT damaged(uuids, qstring(sound.error().message));
  });
}

// Database requests of the user.

bool StoreReader::writable() {
  if (store_ && !read_only_) return true;
  Q_EMIT failed(store_ ? tr("%1 is a run file and opened read-only: import it into your database "
                            "to change it.")
                             .arg(qstring(database_.string()))
                       : tr("The database is not open."));
  return false;
}

void StoreReader::change(Request request) {
  if (writable()) return enqueue(std::move(request));
  if (request.end) request.end(fail("{}: the database cannot be changed now.", database_.string()));
}

void StoreReader::enqueue(Request request) {
  requests_.push_back(std::move(request));
  // Later requests wait for earlier ones, because they may depend on them.
  if (requests_.size() == 1) run_requests();
}

void StoreReader::run_requests() {
  while (!requests_.empty()) {
    Request& first = requests_.front();
    const Status done = first.run();
    const bool waits = !done && done.error().kind == ErrorKind::locked;
    if (waits && (first.show || ++first.tries < most_tries_)) return wait_for_lock();
    const auto end = std::move(first.end);
    requests_.pop_front();
    if (!done) Q_EMIT failed(qstring(done.error().message));
    if (end) end(done);
  }
  end_wait_if_free();
}

void StoreReader::write_text(const QStringList& uuids, const QString& typed,
                             std::function<Status()> write, std::function<void(RunInfo&)> show) {
  const auto end = [this, uuids, typed](const Status& written) {
    if (store_) read_list();
    if (written && shown_ && uuids.contains(shown_->uuid)) read_shown();
    if (!written && !typed.isEmpty()) Q_EMIT text_refused(typed, qstring(written.error().message));
    Q_EMIT text_written();
  };
  change(Request{.run = std::move(write), .end = end, .uuids = uuids, .show = std::move(show)});
  if (!requests_.empty()) report_list();
}

void StoreReader::rename_run(const QString& uuid, const QString& name) {
  write_text(
      {uuid}, name,
      [this, uuid, name] {
        return store_->describe_run(RunId{uuid.toStdString()}, {.name = name.toStdString()});
      },
      [name](RunInfo& run) { run.name = name.toStdString(); });
}

void StoreReader::write_note(const QString& uuid, const QString& note, const QString& before) {
  const auto write = [this, uuid, note, before]() -> Status {
    const Result<RunInfo> run = store_->find_run(uuid.toStdString());
    if (!run) return tl::unexpected(run.error());
    const QString stored = harmless(qstring(run->note));
    const bool is_another = stored != before && stored != note && !stored.isEmpty();
    const QString both = note.isEmpty() ? stored : stored + QStringLiteral("\n\n") + note;
    if (Status written =
            store_->describe_run(run->id, {.note = (is_another ? both : note).toStdString()});
        !written) {
      return written;
    }
    if (is_another) {
      Q_EMIT succeeded(
          (note.isEmpty()
               ? tr("The note of run %1 was changed by another program, so it was not cleared.")
               : tr("The note of run %1 was changed by another program: it now contains that text, "
                    "followed by yours."))
              .arg(run->number));
    }
    return {};
  };
  write_text({uuid}, note, write, [note](RunInfo& run) { run.note = note.toStdString(); });
}

void StoreReader::change_tags(const QStringList& uuids, const QStringList& added,
                              const QStringList& removed) {
  const auto write = [this, uuids, added, removed]() -> Status {
    for (const RunId& id : ids_of(uuids)) {
      const Result<RunInfo> run = store_->find_run(id.uuid);
      if (!run) return tl::unexpected(run.error());
      const std::string tag = changed_tag(run->tag, added, removed);
      if (Status described = store_->describe_run(id, {.tag = tag}); !described) return described;
    }
    return {};
  };
  write_text(uuids, added.join(QLatin1Char(' ')), write,
             [added, removed](RunInfo& run) { run.tag = changed_tag(run.tag, added, removed); });
}

void StoreReader::put_in_trash(const QStringList& uuids) {
  change([this, uuids]() -> Status {
    Status put = store_->put_in_trash(ids_of(uuids));
    if (!put) return put;
    read_list();
    Q_EMIT trashed(uuids, tr("Moved %1 to the trash.").arg(counted_runs(uuids.size())));
    return {};
  });
}

void StoreReader::take_from_trash(const QStringList& uuids) {
  change([this, uuids]() -> Status {
    Status taken = store_->take_from_trash(ids_of(uuids));
    if (!taken) return taken;
    read_list();
    Q_EMIT succeeded(tr("Restored %1 from the trash.").arg(counted_runs(uuids.size())));
    return {};
  });
}

void StoreReader::remove_runs(const QStringList& uuids) {
  for (const QString& uuid : uuids) {
    change([this, uuid]() -> Status {
      Status removed = store_->remove_run(RunId{uuid.toStdString()});
      if (!removed) return removed;
      if (shown_ && shown_->uuid == uuid) shown_.reset();
      read_list();
      return {};
    });
  }
}

void StoreReader::empty_trash() {
  change([this]() -> Status {
    const Result<int> removed = store_->empty_trash();
    if (!removed) return tl::unexpected(removed.error());
    read_list();
    Q_EMIT succeeded(tr("Deleted %1 permanently.").arg(counted_runs(*removed)));
    return {};
  });
}

void StoreReader::compare_runs(const QString& uuid_a, const QString& uuid_b) {
  reading_.start([this, a = RunInFile{file_of(uuid_a), uuid_a},
                  b = RunInFile{file_of(uuid_b), uuid_b}] { Q_EMIT compared(compare(a, b)); });
}

void StoreReader::export_runs(const QStringList& uuids, const QString& file) {
  if (!store_) return;
  enqueue([this, uuids, file]() -> Status {
    Status written = store_->export_runs(ids_of(uuids), std::filesystem::path(file.toStdString()));
    if (!written) return written;
    Q_EMIT succeeded(tr("Exported %1 to %2").arg(counted_runs(uuids.size()), file));
    return {};
  });
}

void StoreReader::import_file(const QString& file) {
  change([this, file]() -> Status {
    const Result<Store::Imported> imported =
        store_->import_file(std::filesystem::path(file.toStdString()));
    if (!imported) return tl::unexpected(imported.error());
    read_list();
    Q_EMIT succeeded(tr("Imported %1, %2 already present")
                         .arg(counted_runs(imported->added))
                         .arg(imported->already_there));
    if (!imported->runs.empty()) Q_EMIT file_imported(file, qstring(imported->runs.back().uuid));
    return {};
  });
}

// The shipped runs.

void StoreReader::read_published(const std::filesystem::path& folder) {
  reading_.start([this, folder] {
    std::vector<std::filesystem::path> files;
    std::error_code ignored;  // without the folder there are no shipped runs
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
      for (const char* name : {"run.attn.gz", "run.attn"}) {
        const std::filesystem::path file = entry.path() / name;
        if (std::filesystem::exists(file, ignored)) files.push_back(file);
      }
    }
    std::ranges::sort(files);
    auto published = std::make_shared<std::vector<PublishedRun>>();
    for (const std::filesystem::path& file : files) {
      const Result<Store> store = Store::open(file, Store::Mode::read_only);
      const auto runs = store ? store->runs() : tl::unexpected(store.error());
      if (!runs) Q_EMIT failed(qstring(runs.error().message));
      for (const RunInfo& info : runs.value_or(std::vector<RunInfo>()))
        published->push_back({qstring(file.string()), {shown(info), std::nullopt}});
    }
    QMetaObject::invokeMethod(this, [this, published] {
      published_ = published;
      Q_EMIT published_read(published_);
    });
  });
}

std::filesystem::path StoreReader::file_of(const QString& uuid) const {
  const bool is_own = list_ && (find(list_->runs, uuid) || find(list_->trash, uuid));
  if (!published_ || is_own) return database_;
  const auto found =
      std::ranges::find(*published_, uuid.toStdString(),
                        [](const PublishedRun& run) { return run.entry.info.id.uuid; });
  return found == published_->end() ? database_ : std::filesystem::path(found->file.toStdString());
}

const Store* StoreReader::store_of(const QString& uuid) {
  const std::filesystem::path file = file_of(uuid);
  if (file == database_) return store_ ? &*store_ : nullptr;
  if (!published_store_ || published_store_->file() != file) {
    Result<Store> store = Store::open(file, Store::Mode::read_only);
    if (!store) {
      Q_EMIT failed(qstring(store.error().message));
      return nullptr;
    }
    published_store_ = std::move(*store);
  }
  return &*published_store_;
}

StoreThread::StoreThread(const std::filesystem::path& database)
    : reader_(new StoreReader(database)) {
  reader_->moveToThread(&thread_);
  QObject::connect(&thread_, &QThread::started, reader_, &StoreReader::open);
  QObject::connect(&thread_, &QThread::finished, reader_, &QObject::deleteLater);
  thread_.setObjectName(QStringLiteral("store"));
}

StoreThread::~StoreThread() {
  const bool started = thread_.isRunning() || thread_.isFinished();
  // Requests posted before are completed first.
  if (thread_.isRunning()) {
    QMetaObject::invokeMethod(
        reader_, [] {}, Qt::BlockingQueuedConnection);
  }
  thread_.quit();
  thread_.wait();
  if (!started) delete reader_;
}

}  // namespace attnscope::gui
