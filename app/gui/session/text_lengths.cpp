// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/text_lengths.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>

#include "base/written_file.h"
#include "engine/report/question.h"

namespace attnscope::gui {

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
  QStringList oldest_first =
      dir.entryList({QStringLiteral("*.json")}, QDir::Files, QDir::Time | QDir::Reversed);
  while (oldest_first.size() >= most_files) QFile::remove(dir.filePath(oldest_first.takeFirst()));
  file_ = dir.filePath(name_);
  return write_file(file_.toStdString(), printed.toStdString()).has_value();
}

}  // namespace attnscope::gui
