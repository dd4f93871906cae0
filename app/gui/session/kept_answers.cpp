// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/kept_answers.h"

#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <utility>

#include "app/gui/session/text.h"
#include "base/written_file.h"
#include "engine/report/text_statistics.h"

namespace attnscope::gui {
namespace {

/// Removes files, the first in this order, until at most `most` are there.
void remove_oldest(const QDir& folder, const QString& names, QDir::SortFlags oldest_first,
                   int most) {
  QStringList files = folder.entryList({names}, QDir::Files, oldest_first);
  while (files.size() > most) QFile::remove(folder.filePath(files.takeFirst()));
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
  Question requested{
      .arguments = {QStringLiteral("inspect"), QStringLiteral("--checkpoint=") + question.folder,
                    QStringLiteral("--query=") + question.query,
                    QStringLiteral("--document-file=") + path_of(document),
                    QStringLiteral("--output=") + file_},
      .files = {{document, question.document.toStdString()}}};
  if (question.attention) {
    requested.files.emplace(pattern, pattern_json(question.attention->pattern));
    requested.arguments.append(QStringLiteral("--pattern=") + path_of(pattern));
    if (question.attention->window) {
      requested.arguments.append(QStringLiteral("--window=") +
                                 words(question.attention->window->text()));
    }
  }
  put(std::move(requested));
}

bool CheckpointInspection::read(const QByteArray&) {
  if (!QFile::exists(file_)) return false;
  // Names begin with the time.
  remove_oldest(folder(), QStringLiteral("*.safetensors"), QDir::Name, most_dumps);
  return true;
}

TextLengths::TextLengths(QObject* parent) : ProgramQuestion(parent) {
  set_patience({});
}

QString TextLengths::folder() {
  return data_folder() + QStringLiteral("/lengths");
}

void TextLengths::count(const QString& checkpoint, const QString& pairs) {
  name_ = QFileInfo(pairs).completeBaseName() + QLatin1Char('-') + QDir(checkpoint).dirName() +
          QStringLiteral(".json");
  put({.arguments = {QStringLiteral("lengths"), QStringLiteral("--checkpoint=") + checkpoint,
                     QStringLiteral("--pairs=") + pairs, QStringLiteral("--format=json")}});
}

bool TextLengths::read(const QByteArray& printed) {
  if (!report::parse_document_lengths(printed.toStdString())) return false;
  // If the folder cannot be created, writing the file reports the error.
  QDir().mkpath(folder());
  const QDir dir(folder());
  remove_oldest(dir, QStringLiteral("*.json"), QDir::Time | QDir::Reversed, most_files - 1);
  file_ = dir.filePath(name_);
  return write_file(file_.toStdString(), printed.toStdString()).has_value();
}

}  // namespace attnscope::gui
