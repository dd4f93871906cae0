// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/opened_files.h"

#include <QFileInfo>
#include <QSettings>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "base/text_file.h"
#include "base/written_file.h"
#include "engine/ranking/training_curve.h"
#include "engine/store/location.h"

namespace attnscope::gui {
namespace {

constexpr std::size_t largest_text = 1 << 20;  // bytes; sweeps and patterns are far smaller

Result<FileKind> kind_of_json(const std::filesystem::path& file) {
  const Result<std::string> text = read_text_file(file, "file", largest_text);
  if (!text) return tl::unexpected(text.error());
  const auto json = parse_json(*text);
  if (json.is_object() && json.contains("contenders")) return FileKind::sweep;
  // A checkpoint's config.json gives the patterns of its layers.
  for (const char* field : {"attends", "item", "blocks", "model_type"})
    if (json.is_object() && json.contains(field)) return FileKind::pattern;
  if (json.is_discarded()) return fail("{}: is not valid JSON; was it cut short?", file.string());
  return fail(
      "{}: neither a sweep (it would have \"contenders\"), nor a pattern (\"attends\", \"item\" or "
      "\"blocks\") or a checkpoint's config.json (\"model_type\"); docs/sweeps.md and "
      "docs/patterns.md show them.",
      file.string());
}

constexpr int most_recent = 10;
const QString recent_files_key = QStringLiteral("files/recent");

}  // namespace

Result<FileKind> kind_of(const std::filesystem::path& file) {
  std::error_code error;
  if (std::filesystem::exists(file / training_curve_file, error)) return FileKind::training;
  if (!std::filesystem::is_regular_file(file, error)) {
    return fail("{}: there is no such file.", file.string());
  }
  const std::string extension = file.extension().string();
  if (store::is_exported(file)) return FileKind::exported_runs;
  if (extension == ".safetensors") return FileKind::dump;
  if (extension == ".json") return kind_of_json(file);
  if (file.filename() == training_curve_file) return FileKind::training;
  if (is_database(file)) return FileKind::database;
  return fail(
      "{}: not a file of AttnScope's; it opens databases, exported runs (.attn, .attn.gz), sweeps "
      "and "
      "patterns (.json), attention dumps (.safetensors) and trainings (training.tsv).",
      file.string());
}

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
  // Files on drives that are not mounted now are kept.
  QStringList files = QSettings().value(recent_files_key).toStringList();
  const QString absolute = QFileInfo(file).absoluteFilePath();
  files.removeAll(absolute);
  files.prepend(absolute);
  QSettings().setValue(recent_files_key, files.mid(0, most_recent));
}

void forget_files() {
  QSettings().remove(recent_files_key);
}

}  // namespace attnscope::gui
