// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/file_dialogs.h"

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QSettings>
#include <QStandardPaths>
#include <QToolButton>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/open_file.h"
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
  if (json.is_discarded()) return fail("{}: is not valid JSON; is it truncated?", file.string());
  return fail(
      "{}: neither a sweep (which has \"contenders\"), nor a pattern (\"attends\", \"item\" or "
      "\"blocks\") or a checkpoint's config.json (\"model_type\"); docs/sweeps.md and "
      "docs/patterns.md show them.",
      file.string());
}

constexpr int most_recent = 10;
const QString recent_files_key = QStringLiteral("files/recent");
const QString kinds_key = QStringLiteral("files/kinds");

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
      "{}: not a file that AttnScope can open; it opens databases, exported runs (.attn, "
      ".attn.gz), sweeps and patterns (.json), attention dumps (.safetensors) and trainings "
      "(training.tsv).",
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
  const QVariantMap kinds = QSettings().value(kinds_key).toMap();
  for (const QString& file : recent_files())
    if (kinds.value(file, -1).toInt() == static_cast<int>(kind)) files.append(file);
  return files;
}

void remember_file(const QString& file, FileKind kind) {
  // Files on drives that are not mounted now are kept.
  QStringList files = QSettings().value(recent_files_key).toStringList();
  QVariantMap kinds = QSettings().value(kinds_key).toMap();
  const QString absolute = QFileInfo(file).absoluteFilePath();
  files.removeAll(absolute);
  files.prepend(absolute);
  kinds[absolute] = static_cast<int>(kind);
  for (const QString& dropped : files.mid(most_recent)) kinds.remove(dropped);
  QSettings().setValue(recent_files_key, files.mid(0, most_recent));
  QSettings().setValue(kinds_key, kinds);
}

void forget_files() {
  QSettings().remove(recent_files_key);
  QSettings().remove(kinds_key);
}

namespace {

const auto folder_key = QStringLiteral("figure/folder");

void open_dialog(QFileDialog* dialog, std::function<void(const QString&)> chosen) {
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  QObject::connect(dialog, &QFileDialog::fileSelected, dialog->parent(), std::move(chosen));
  dialog->open();
}

}  // namespace

QString folder_for_new_files() {
  const QString remembered = QSettings().value(folder_key).toString();
  if (!remembered.isEmpty() && QDir(remembered).exists()) return remembered;
  const QString documents = QStandardPaths::writableLocation(QStandardPaths::DocumentsLocation);
  return QDir(documents).exists() ? documents : QDir::homePath();
}

void remember_folder_of(const QString& file) {
  QSettings().setValue(folder_key, QFileInfo(file).absolutePath());
}

void ask_for_new_file(QWidget* parent, const QString& title, const QString& suggestion,
                      const QStringList& endings, std::function<void(const QString&)> chosen) {
  auto* dialog = new QFileDialog(parent, title, folder_for_new_files());
  dialog->setAcceptMode(QFileDialog::AcceptSave);
  dialog->setNameFilter(QStringLiteral("*.") + endings.join(QStringLiteral(" *.")));
  dialog->setDefaultSuffix(endings.first());
  dialog->selectFile(suggestion + QLatin1Char('.') + endings.first());
  open_dialog(dialog, [chosen = std::move(chosen)](const QString& file) {
    remember_folder_of(file);
    chosen(file);
  });
}

void ask_for_file(QWidget* parent, const QString& title, const QString& filter,
                  std::function<void(const QString&)> chosen) {
  auto* dialog = new QFileDialog(parent, title);
  dialog->setFileMode(QFileDialog::ExistingFile);
  dialog->setNameFilter(filter);
  open_dialog(dialog, std::move(chosen));
}

void ask_for_folder(QWidget* parent, const QString& title, const QString& first,
                    std::function<void(const QString&)> chosen) {
  auto* dialog = new QFileDialog(parent, title, first);
  dialog->setFileMode(QFileDialog::Directory);
  dialog->setOption(QFileDialog::ShowDirsOnly);
  open_dialog(dialog, std::move(chosen));
}

FileField::FileField(QWidget* parent) : QWidget(parent), line_(new QLineEdit) {
  auto* browse = new QToolButton;
  browse->setText(QStringLiteral("…"));
  browse->setFocusPolicy(Qt::StrongFocus);
  connect(browse, &QToolButton::clicked, this, &FileField::choose);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins({});
  layout->addWidget(line_, 1);
  layout->addWidget(browse);
  setFocusProxy(line_);
  setMinimumWidth(48 * fontMetrics().averageCharWidth());
  // The object name is set later.
  connect(this, &QObject::objectNameChanged, this, [this, browse](const QString& name) {
    line_->setObjectName(name + QStringLiteral("_path"));
    browse->setObjectName(name + QStringLiteral("_browse"));
  });
}

QString FileField::text() const {
  return line_->text().trimmed();
}

void FileField::set_text(const QString& path) {
  line_->setText(path);
}

QString FileField::placeholder() const {
  return line_->placeholderText();
}

void FileField::set_placeholder(const QString& text) {
  line_->setPlaceholderText(text);
}

// Called after the form has set the name.
void FileField::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  for (QWidget* part : findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly))
    part->setAccessibleName(accessibleName());
}

void FileField::choose() {
  const auto take = [this](const QString& path) {
    set_text(path);
    Q_EMIT chosen();
  };
  if (of_folder_) return ask_for_folder(this, accessibleName(), text(), take);
  ask_for_file(this, accessibleName(), tr("All files (*)"), take);
}

}  // namespace attnscope::gui
