// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/latest_job.h"

#include <exception>
#include <new>
#include <utility>

namespace attnscope {

LatestJob::LatestJob(QObject* parent) : QObject(parent) {
  pool_.setMaxThreadCount(1);
  pool_.setThreadPriority(QThread::LowPriority);
}

LatestJob::~LatestJob() {
  ++newest_;
  pool_.waitForDone();
}

void LatestJob::start(Work work) {
  const quint64 number = ++newest_;
  is_busy_ = true;
  pool_.start([this, work = std::move(work), number] { run(work, number); });
}

void LatestJob::drop() {
  ++newest_;
  is_busy_ = false;
}

void LatestJob::Token::deliver(std::function<void()> there) const {
  QMetaObject::invokeMethod(
      &job_,
      [job = &job_, number = number_, there = std::move(there)] {
        if (job->newest_ == number) there();
      },
      Qt::QueuedConnection);
}

void LatestJob::run(const Work& work, quint64 number) {
  const Token token(*this, number);
  if (token.superseded()) return;
  QString problem;
  try {
    work(token);
  } catch (const std::bad_alloc&) {
    problem = QStringLiteral("There is not enough memory for this; choose fewer tokens.");
  } catch (const std::exception& error) {
    problem = QString::fromUtf8(error.what());
  }
  token.deliver([this, problem] {
    is_busy_ = false;
    if (!problem.isEmpty()) Q_EMIT failed(problem);
    Q_EMIT finished();
  });
}

}  // namespace attnscope
