// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/checkpoint_inspection.h"

#include <QDateTime>
#include <QDir>
#include <QFile>

#include "app/gui/session/program.h"
#include "app/gui/session/text.h"

namespace attnscope::gui {
namespace {

/// Names begin with the time, so that the oldest come first.
void remove_old_dumps(const QString& folder, int most) {
  const QDir dir(folder);
  QStringList names = dir.entryList({QStringLiteral("*.safetensors")}, QDir::Files, QDir::Name);
  while (names.size() > most) QFile::remove(dir.filePath(names.takeFirst()));
}

}  // namespace

CheckpointInspection::CheckpointInspection(QObject* parent) : QObject(parent) {
  connect(&process_, &QProcess::finished, this, &CheckpointInspection::finished);
  connect(&process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) {
      end(tr("Cannot start %1: %2.").arg(process_.program(), process_.errorString()));
    }
  });
}

CheckpointInspection::~CheckpointInspection() {
  process_.disconnect(this);
  if (process_.state() == QProcess::NotRunning) return;
  process_.kill();
  process_.waitForFinished(patience_ms);
}

QString CheckpointInspection::folder() {
  return data_folder() + QStringLiteral("/dumps");
}

bool CheckpointInspection::write(const QString& name, const QByteArray& text) {
  QFile file(texts_.filePath(name));
  return file.open(QIODevice::WriteOnly | QIODevice::Truncate) && file.write(text) == text.size();
}

void CheckpointInspection::compute(const CheckpointQuestion& question) {
  stop();
  const QString stamp =
      QDateTime::currentDateTimeUtc().toString(QStringLiteral("yyyyMMdd-HHmmss-zzz"));
  const QString name = QDir(question.folder).dirName();
  file_ = QStringLiteral("%1/%2-%3.safetensors").arg(folder(), stamp, name);
  QStringList arguments{
      QStringLiteral("inspect"), QStringLiteral("--checkpoint=") + question.folder,
      QStringLiteral("--query=") + question.query,
      QStringLiteral("--document-file=") + texts_.filePath(QStringLiteral("document.txt")),
      QStringLiteral("--output=") + file_};
  bool ready =
      QDir().mkpath(folder()) && write(QStringLiteral("document.txt"), question.document.toUtf8());
  if (question.attention) {
    const QString pattern = QStringLiteral("pattern.json");
    ready = ready &&
            write(pattern, QByteArray::fromStdString(pattern_json(question.attention->pattern)));
    arguments.append(QStringLiteral("--pattern=") + texts_.filePath(pattern));
    if (question.attention->window) {
      arguments.append(QStringLiteral("--window=") + words(question.attention->window->text()));
    }
  }
  is_busy_ = true;
  Q_EMIT busy_changed();
  if (!ready) {
    return end(tr("Cannot write into %1 or %2. Make them writable and try again.")
                   .arg(folder(), texts_.path()));
  }
  process_.start(attnscope_program(), arguments);
}

void CheckpointInspection::stop() {
  if (!is_busy_) return;
  is_busy_ = false;
  if (process_.state() != QProcess::NotRunning) {
    const QSignalBlocker quiet(&process_);
    process_.kill();
    process_.waitForFinished(patience_ms);
  }
  Q_EMIT busy_changed();
}

void CheckpointInspection::finished(int exit_code, QProcess::ExitStatus status) {
  if (!is_busy_) return;
  const QByteArray printed = process_.readAllStandardError();
  if (status == QProcess::NormalExit && exit_code == 0) {
    remove_old_dumps(folder(), most_dumps);
    return end({});
  }
  const QString sentence = last_sentence(printed);
  end(sentence.isEmpty() ? tr("The computation ended without a word.") : sentence);
}

void CheckpointInspection::end(const QString& problem) {
  is_busy_ = false;
  Q_EMIT busy_changed();
  if (problem.isEmpty()) {
    Q_EMIT written(file_);
  } else {
    Q_EMIT failed(problem);
  }
}

}  // namespace attnscope::gui
