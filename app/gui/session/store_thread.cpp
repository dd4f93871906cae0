// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/store_thread.h"

namespace attnscope::gui {

StoreThread::StoreThread(const std::filesystem::path& database)
    : reader_(new StoreReader(database)) {
  reader_->moveToThread(&thread_);
  QObject::connect(&thread_, &QThread::started, reader_, &StoreReader::open);
  QObject::connect(&thread_, &QThread::finished, reader_, &QObject::deleteLater);
  thread_.setObjectName(QStringLiteral("store"));
}

StoreThread::~StoreThread() {
  const bool started = thread_.isRunning() || thread_.isFinished();
  thread_.quit();
  thread_.wait();
  if (!started) delete reader_;
}

}  // namespace attnscope::gui
