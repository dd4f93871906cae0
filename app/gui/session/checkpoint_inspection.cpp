// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/checkpoint_inspection.h"

#include <QDateTime>
#include <QDir>
#include <QFile>
#include <utility>

#include "app/gui/session/program.h"
#include "app/gui/session/text.h"

namespace attnscope::gui {
namespace {

/// Names begin with the time, so the oldest come first.
void remove_old_dumps(const QString& folder, int most) {
  const QDir dir(folder);
  QStringList names = dir.entryList({QStringLiteral("*.safetensors")}, QDir::Files, QDir::Name);
  while (names.size() > most) QFile::remove(dir.filePath(names.takeFirst()));
}

}  // namespace

CheckpointInspection::CheckpointInspection(QObject* parent) : ProgramQuestion(parent) {
  set_patience({});
}

QString CheckpointInspection::folder() {
  return data_folder() + QStringLiteral("/dumps");
}

void CheckpointInspection::compute(const CheckpointQuestion& question) {
  const QString stamp =
      QDateTime::currentDateTimeUtc().toString(QStringLiteral("yyyyMMdd-HHmmss-zzz"));
  const QString name = QDir(question.folder).dirName();
  file_ = QStringLiteral("%1/%2-%3.safetensors").arg(folder(), stamp, name);
  // If the folder cannot be created, the program reports that it cannot write into it.
  QDir().mkpath(folder());
  const QString document = QStringLiteral("document.txt");
  const QString pattern = QStringLiteral("pattern.json");
  Question asked{
      .arguments = {QStringLiteral("inspect"), QStringLiteral("--checkpoint=") + question.folder,
                    QStringLiteral("--query=") + question.query,
                    QStringLiteral("--document-file=") + path_of(document),
                    QStringLiteral("--output=") + file_},
      .files = {{document, question.document.toStdString()}}};
  if (question.attention) {
    asked.files.emplace(pattern, pattern_json(question.attention->pattern));
    asked.arguments.append(QStringLiteral("--pattern=") + path_of(pattern));
    if (question.attention->window) {
      asked.arguments.append(QStringLiteral("--window=") +
                             words(question.attention->window->text()));
    }
  }
  put(std::move(asked));
}

bool CheckpointInspection::read(const QByteArray&) {
  if (!QFile::exists(file_)) return false;
  remove_old_dumps(folder(), most_dumps);
  return true;
}

}  // namespace attnscope::gui
