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
  qRegisterMetaType<RunPointer>("attnscope::gui::RunPointer");
  reader_->moveToThread(&thread_);
  connect(&thread_, &QThread::started, reader_, &StoreReader::open);
  connect(&thread_, &QThread::finished, reader_, &QObject::deleteLater);
  connect(reader_, &StoreReader::opened, this, &StoreThread::opened);
  connect(reader_, &StoreReader::refused, this, &StoreThread::refused);
  connect(reader_, &StoreReader::waiting, this, &StoreThread::waiting);
  connect(reader_, &StoreReader::waited, this, &StoreThread::waited);
  connect(reader_, &StoreReader::runs_changed, this, &StoreThread::runs_changed);
  connect(reader_, &StoreReader::runs_changed, this, &StoreThread::check_when_idle);
  connect(&check_, &IntegrityCheck::damaged, this, &StoreThread::damaged);
  connect(reader_, &StoreReader::run_read, this, &StoreThread::run_read);
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

void StoreThread::remove_run(const QString& uuid) {
  QMetaObject::invokeMethod(reader_, [reader = reader_, uuid] { reader->remove_run(uuid); });
}

void StoreThread::export_runs(const QStringList& uuids, const QString& file) {
  QMetaObject::invokeMethod(reader_,
                            [reader = reader_, uuids, file] { reader->export_runs(uuids, file); });
}

void StoreThread::import_file(const QString& file) {
  QMetaObject::invokeMethod(reader_, [reader = reader_, file] { reader->import_file(file); });
}

void StoreThread::refresh() {
  QMetaObject::invokeMethod(reader_, [reader = reader_] { reader->look(); });
}

void StoreThread::open_again() {
  QMetaObject::invokeMethod(reader_, [reader = reader_] { reader->open(); });
}

}  // namespace attnscope::gui
