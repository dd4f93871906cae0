// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/program_question.h"

#include <utility>

#include "app/gui/session/program.h"
#include "app/gui/session/text.h"
#include "kernels/base/written_file.h"

namespace attnscope::gui {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds usual_patience = 2min;  // a busy machine loads LibTorch slowly
constexpr int killed_ms = 2000;                             // for a killed process to be gone

}  // namespace

ProgramQuestion::ProgramQuestion(QObject* parent, std::chrono::milliseconds pause)
    : QObject(parent) {
  pause_.setSingleShot(true);
  pause_.setInterval(pause);
  connect(&pause_, &QTimer::timeout, this, &ProgramQuestion::start);
  hangs_.setSingleShot(true);
  set_patience(usual_patience);
  connect(&hangs_, &QTimer::timeout, this,
          [this] { fail(tr("attnscope did not answer in time and was ended.")); });
}

ProgramQuestion::~ProgramQuestion() {
  give_up();
  for (QProcess* process : findChildren<QProcess*>()) {
    if (process->state() != QProcess::NotRunning) process->waitForFinished(killed_ms);
  }
}

void ProgramQuestion::put(Question question) {
  if (question == question_) return;
  give_up();
  drop_answer();
  question_ = std::move(question);
  problem_.clear();
  is_asking_ = true;
  pause_.start();
  Q_EMIT changed();
}

void ProgramQuestion::forget() {
  if (question_ == Question()) return;
  give_up();
  drop_answer();
  question_ = {};
  problem_.clear();
  is_asking_ = false;
  Q_EMIT changed();
}

void ProgramQuestion::fail(const QString& sentence) {
  question_ = {};
  drop_answer();
  end(sentence);
}

void ProgramQuestion::end(const QString& problem) {
  give_up();
  problem_ = problem;
  is_asking_ = false;
  Q_EMIT changed();
  Q_EMIT answered();
}

void ProgramQuestion::start() {
  for (const auto& [name, text] : question_.files) {
    if (const Status written = write_file(path_of(name).toStdString(), text); !written)
      return fail(words(written.error().message));
  }
  process_ = new QProcess(this);
  connect(process_, &QProcess::finished, this, &ProgramQuestion::finished);
  connect(process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart)
      fail(tr("Cannot start %1: %2.").arg(process_->program(), process_->errorString()));
  });
  if (hangs_.intervalAsDuration() > 0ms) hangs_.start();
  process_->start(attnscope_program(), question_.arguments);
}

void ProgramQuestion::give_up() {
  pause_.stop();
  hangs_.stop();
  QProcess* process = std::exchange(process_, nullptr);
  if (!process) return;
  process->disconnect(this);
  if (process->state() == QProcess::NotRunning) return process->deleteLater();
  connect(process, &QProcess::finished, process, &QObject::deleteLater);
  process->kill();
}

void ProgramQuestion::finished(int exit_code, QProcess::ExitStatus status) {
  const QByteArray printed = process_->readAllStandardOutput();
  const QString sentence = last_sentence(process_->readAllStandardError());
  if (exit_code != 0 || status == QProcess::CrashExit) {
    return fail(sentence.isEmpty()
                    ? tr("attnscope ended without an answer (exit code %1).").arg(exit_code)
                    : sentence);
  }
  if (!read(printed)) return fail(tr("What attnscope answered is of another version."));
  end({});
}

}  // namespace attnscope::gui
