// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/store_thread.h"

#include <algorithm>
#include <utility>

#include "app/gui/session/store_reader.h"

namespace attnscope::gui {

StoreThread::StoreThread(std::filesystem::path database, QObject* parent)
    : QObject(parent),
      database_(std::move(database)),
      check_(database_),
      reader_(new StoreReader(database_)) {
  qRegisterMetaType<RunListPointer>("attnscope::gui::RunListPointer");
  qRegisterMetaType<HeatsPointer>("attnscope::gui::HeatsPointer");
  qRegisterMetaType<PublishedPointer>("attnscope::gui::PublishedPointer");
  qRegisterMetaType<RunPointer>("attnscope::gui::RunPointer");
  qRegisterMetaType<MachineCeilings>("attnscope::gui::MachineCeilings");
  reader_->moveToThread(&thread_);
  connect(&thread_, &QThread::started, reader_, &StoreReader::open);
  connect(&thread_, &QThread::finished, reader_, &QObject::deleteLater);
  connect(reader_, &StoreReader::opened, this, &StoreThread::opened);
  connect(reader_, &StoreReader::warned, this, &StoreThread::warned);
  connect(reader_, &StoreReader::refused, this, &StoreThread::refused);
  connect(reader_, &StoreReader::waiting, this, &StoreThread::waiting);
  connect(reader_, &StoreReader::waited, this, &StoreThread::waited);
  connect(reader_, &StoreReader::runs_changed, this, &StoreThread::runs_changed);
  connect(reader_, &StoreReader::runs_changed, this, &StoreThread::check_when_idle);
  connect(&check_, &IntegrityCheck::damaged, this, &StoreThread::damaged);
  connect(&check_, &IntegrityCheck::damage_found, this, &StoreThread::damage_found);
  connect(reader_, &StoreReader::heats_read, this, &StoreThread::heats_read);
  connect(reader_, &StoreReader::published_read, this, &StoreThread::published_read);
  connect(reader_, &StoreReader::trashed, this, &StoreThread::trashed);
  connect(reader_, &StoreReader::run_read, this, &StoreThread::run_read);
  connect(reader_, &StoreReader::ceilings_read, this, &StoreThread::ceilings_read);
  connect(reader_, &StoreReader::compared, this, &StoreThread::compared);
  connect(reader_, &StoreReader::file_imported, this, &StoreThread::file_imported);
  connect(reader_, &StoreReader::database_tried, this, &StoreThread::database_tried);
  connect(reader_, &StoreReader::succeeded, this, &StoreThread::succeeded);
  connect(reader_, &StoreReader::failed, this, &StoreThread::failed);
  thread_.setObjectName(QStringLiteral("store"));
}

StoreThread::~StoreThread() {
  if (!thread_.isRunning()) {
    if (!thread_.isFinished()) delete reader_;
    return;
  }
  thread_.quit();
  thread_.wait();
}

/// Once, and not beside a run that measures.
void StoreThread::check_when_idle(const RunListPointer& runs) {
  const bool some_live = std::any_of(runs->runs.begin(), runs->runs.end(), [](const auto& entry) {
    return entry.info.status == RunStatus::running;
  });
  if (checked_ || some_live) return;
  checked_ = true;
  check_.start(QThread::IdlePriority);
}

void StoreThread::set_most_tries(int tries) {
  reader_->set_most_tries(tries);
}

void StoreThread::start() {
  thread_.start();
}

void StoreThread::show_run(const RunRequest& request) {
  QMetaObject::invokeMethod(reader_, [reader = reader_, request] { reader->show_run(request); });
}

void StoreThread::describe_run(const QString& uuid, const RunWords& words) {
  QMetaObject::invokeMethod(reader_,
                            [reader = reader_, uuid, words] { reader->describe_run(uuid, words); });
}

void StoreThread::change_tags(const QStringList& uuids, const QStringList& added,
                              const QStringList& removed) {
  QMetaObject::invokeMethod(reader_, [reader = reader_, uuids, added, removed] {
    reader->change_tags(uuids, added, removed);
  });
}

void StoreThread::put_in_trash(const QStringList& uuids) {
  QMetaObject::invokeMethod(reader_, [reader = reader_, uuids] { reader->put_in_trash(uuids); });
}

void StoreThread::take_from_trash(const QStringList& uuids) {
  QMetaObject::invokeMethod(reader_, [reader = reader_, uuids] { reader->take_from_trash(uuids); });
}

void StoreThread::remove_runs(const QStringList& uuids) {
  QMetaObject::invokeMethod(reader_, [reader = reader_, uuids] { reader->remove_runs(uuids); });
}

void StoreThread::empty_trash() {
  QMetaObject::invokeMethod(reader_, [reader = reader_] { reader->empty_trash(); });
}

void StoreThread::read_published(const std::filesystem::path& folder) {
  QMetaObject::invokeMethod(reader_,
                            [reader = reader_, folder] { reader->read_published(folder); });
}

void StoreThread::compare_runs(const QString& uuid_a, const QString& uuid_b) {
  QMetaObject::invokeMethod(
      reader_, [reader = reader_, uuid_a, uuid_b] { reader->compare_runs(uuid_a, uuid_b); });
}

void StoreThread::export_runs(const QStringList& uuids, const QString& file) {
  QMetaObject::invokeMethod(reader_,
                            [reader = reader_, uuids, file] { reader->export_runs(uuids, file); });
}

void StoreThread::import_file(const QString& file) {
  QMetaObject::invokeMethod(reader_, [reader = reader_, file] { reader->import_file(file); });
}

void StoreThread::try_database(const QString& file) {
  QMetaObject::invokeMethod(reader_, [reader = reader_, file] { reader->try_database(file); });
}

void StoreThread::read_ceilings() {
  QMetaObject::invokeMethod(reader_, [reader = reader_] { reader->read_ceilings(); });
}

void StoreThread::refresh() {
  QMetaObject::invokeMethod(reader_, [reader = reader_] { reader->look(); });
}

void StoreThread::open_again() {
  QMetaObject::invokeMethod(reader_, [reader = reader_] { reader->open(); });
}

}  // namespace attnscope::gui
