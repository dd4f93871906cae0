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
#include <utility>

namespace attnscope::gui {
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

void FileField::set_placeholder(const QString& words) {
  line_->setPlaceholderText(words);
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
