// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/recent_files.h"

#include <QFileInfo>
#include <QSettings>

namespace attnscope::gui {
namespace {

constexpr int most = 10;
const QString recent_files_key = QStringLiteral("files/recent");

}  // namespace

QStringList recent_files() {
  QStringList there;
  const QStringList kept = QSettings().value(recent_files_key).toStringList();
  for (const QString& file : kept) {
    if (QFileInfo::exists(file)) there.append(file);
  }
  return there;
}

QStringList recent_files(FileKind kind) {
  QStringList files;
  for (const QString& file : recent_files()) {
    if (const auto known = kind_of(file.toStdString()); known && *known == kind) files.append(file);
  }
  return files;
}

void remember_file(const QString& file) {
  QStringList files = recent_files();
  const QString absolute = QFileInfo(file).absoluteFilePath();
  files.removeAll(absolute);
  files.prepend(absolute);
  QSettings().setValue(recent_files_key, files.mid(0, most));
}

void forget_files() {
  QSettings().remove(recent_files_key);
}

}  // namespace attnscope::gui
