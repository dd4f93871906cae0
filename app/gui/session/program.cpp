// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/program.h"

#include <QCoreApplication>
#include <QFile>
#include <QStringList>

#include "app/gui/session/text.h"
#include "engine/store/store.h"

namespace attnscope::gui {
namespace {

bool is_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

}  // namespace

QString attnscope_program() {
  const QString other = qEnvironmentVariable("ATTNSCOPE_PROGRAM");
  return other.isEmpty() ? QCoreApplication::applicationFilePath() : other;
}

QString data_folder() {
  return words(default_database().parent_path().string());
}

std::filesystem::path results_folder(const std::filesystem::path& program_folder) {
  const auto installed = program_folder.parent_path() / "share/attnscope/results";
  if (is_folder(installed)) return installed;
  // A build lies at most three folders below its sources: build/release/tests.
  constexpr int most_levels = 3;
  std::filesystem::path folder = program_folder;
  for (int level = 0; level <= most_levels && folder.has_relative_path(); ++level) {
    if (is_folder(folder / "results") && is_folder(folder / "resources/reference"))
      return folder / "results";
    folder = folder.parent_path();
  }
  return {};
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
  // The state letter follows the name in brackets, which may itself hold spaces and brackets.
  const QByteArray text = stat.readAll();
  const qsizetype bracket = text.lastIndexOf(')');
  return bracket >= 0 && text.size() > bracket + 2 && text.at(bracket + 2) != 'Z';
}

}  // namespace attnscope::gui
