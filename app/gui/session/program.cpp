// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/program.h"

#include <sys/prctl.h>

#include <QCoreApplication>
#include <QFile>
#include <QStringList>
#include <csignal>
#include <cstring>
#include <utility>

#include "app/gui/session/text.h"
#include "base/written_file.h"
#include "engine/store/store.h"

namespace attnscope::gui {
namespace {

bool is_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds default_timeout = 2min;  // a busy machine loads LibTorch slowly
constexpr int killed_ms = 2000;                              // time for a killed process to end
constexpr qsizetype most_printed = 16 << 20;                 // bytes; an answer is much shorter
constexpr qsizetype most_error_output =
    64 << 10;  // bytes from the end, which contain the last sentence

/// Describes the end of a process that printed no message.
QString end_text(int exit_code, QProcess::ExitStatus status) {
  if (status != QProcess::CrashExit)
    return ProgramQuestion::tr("attnscope ended without an answer (exit code %1).").arg(exit_code);
  return ProgramQuestion::tr("attnscope was killed by signal %1 (%2) and gave no answer.")
      .arg(exit_code)
      .arg(QString::fromLocal8Bit(strsignal(exit_code)));
}

}  // namespace

QString attnscope_program() {
  const QString other = qEnvironmentVariable("ATTNSCOPE_PROGRAM");
  return other.isEmpty() ? QCoreApplication::applicationFilePath() : other;
}

QString data_folder() {
  return qstring(default_database().parent_path().string());
}

std::filesystem::path results_folder(const std::filesystem::path& program_folder) {
  const auto installed = program_folder.parent_path() / "share/attnscope/results";
  if (is_folder(installed)) return installed;
  // A build is at most three folders below its sources: build/release/tests.
  constexpr int most_levels = 3;
  std::filesystem::path folder = program_folder;
  for (int level = 0; level <= most_levels && folder.has_relative_path(); ++level) {
    if (is_folder(folder / "results") && is_folder(folder / "resources/reference"))
      return folder / "results";
    folder = folder.parent_path();
  }
  return {};
}

QStringList with_options(const QStringList& programs) {
  QStringList options;
  for (const QString& program : programs) options << QStringLiteral("--with") << program;
  return options;
}

QString last_sentence(const QByteArray& printed) {
  const QStringList lines = QString::fromUtf8(printed).split(QLatin1Char('\n'), Qt::SkipEmptyParts);
  for (auto line = lines.crbegin(); line != lines.crend(); ++line) {
    QString text = line->trimmed();
    for (const char* prefix : {"attnscope: ", "error: "}) {
      if (text.startsWith(QLatin1String(prefix))) text.remove(0, static_cast<int>(qstrlen(prefix)));
    }
    if (!text.isEmpty()) return text;
  }
  return {};
}

bool is_running(qint64 process_id) {
  QFile stat(QStringLiteral("/proc/%1/stat").arg(process_id));
  if (!stat.open(QIODevice::ReadOnly)) return false;
  // The state letter follows the name in brackets, which may itself contain spaces and brackets.
  const QByteArray text = stat.readAll();
  const qsizetype bracket = text.lastIndexOf(')');
  return bracket >= 0 && text.size() > bracket + 2 && text.at(bracket + 2) != 'Z';
}

ProgramQuestion::ProgramQuestion(QObject* parent, std::chrono::milliseconds pause)
    : QObject(parent) {
  pause_.setSingleShot(true);
  pause_.setInterval(pause);
  connect(&pause_, &QTimer::timeout, this, &ProgramQuestion::start);
  timeout_.setSingleShot(true);
  set_timeout(default_timeout);
  connect(&timeout_, &QTimer::timeout, this,
          [this] { fail(tr("attnscope did not answer in time and was ended.")); });
}

ProgramQuestion::~ProgramQuestion() {
  end_process();
  for (QProcess* process : findChildren<QProcess*>()) {
    if (process->state() != QProcess::NotRunning) process->waitForFinished(killed_ms);
  }
}

void ProgramQuestion::send(Question question) {
  if (question == question_) return;
  end_process();
  drop_answer();
  question_ = std::move(question);
  problem_.clear();
  is_pending_ = true;
  pause_.start();
  Q_EMIT changed();
}

void ProgramQuestion::cancel() {
  if (question_ == Question()) return;
  end_process();
  drop_answer();
  question_ = {};
  problem_.clear();
  is_pending_ = false;
  Q_EMIT changed();
}

void ProgramQuestion::fail(const QString& sentence) {
  question_ = {};
  drop_answer();
  end(sentence);
}

void ProgramQuestion::end(const QString& problem) {
  end_process();
  problem_ = problem;
  is_pending_ = false;
  Q_EMIT changed();
  Q_EMIT answered();
}

void ProgramQuestion::start() {
  for (const auto& [name, text] : question_.files) {
    if (const Status written = write_file(path_of(name).toStdString(), text); !written)
      return fail(qstring(written.error().message));
  }
  output_.clear();
  error_output_.clear();
  process_ = new QProcess(this);
  connect(process_, &QProcess::readyReadStandardOutput, this, &ProgramQuestion::take_output);
  connect(process_, &QProcess::readyReadStandardError, this, &ProgramQuestion::take_output);
  connect(process_, &QProcess::finished, this, &ProgramQuestion::finished);
  connect(process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart)
      fail(tr("Cannot start %1: %2.").arg(process_->program(), process_->errorString()));
  });
  // If this process dies, the child ends as well, because its answer is no longer needed.
  process_->setChildProcessModifier([] { ::prctl(PR_SET_PDEATHSIG, SIGTERM); });
  if (timeout_.intervalAsDuration() > 0ms) timeout_.start();
  process_->start(attnscope_program(), question_.arguments);
}

void ProgramQuestion::end_process() {
  pause_.stop();
  timeout_.stop();
  QProcess* process = std::exchange(process_, nullptr);
  if (!process) return;
  process->disconnect(this);
  if (process->state() == QProcess::NotRunning) return process->deleteLater();
  connect(process, &QProcess::finished, process, &QObject::deleteLater);
  process->kill();
}

void ProgramQuestion::take_output() {
  output_ += process_->readAllStandardOutput();
  error_output_ = (error_output_ + process_->readAllStandardError()).right(most_error_output);
  if (output_.size() > most_printed)
    fail(tr("attnscope printed more than an answer can contain and was ended."));
}

void ProgramQuestion::finished(int exit_code, QProcess::ExitStatus status) {
  take_output();
  if (!process_) return;
  if (exit_code != 0 || status == QProcess::CrashExit) {
    const QString sentence = last_sentence(error_output_);
    return fail(sentence.isEmpty() ? end_text(exit_code, status) : sentence);
  }
  if (!read(std::exchange(output_, {})))
    return fail(tr("The answer of attnscope has the format of another version."));
  end({});
}

}  // namespace attnscope::gui
