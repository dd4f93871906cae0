// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/file_dialogs.h"

#include <QFileDialog>
#include <utility>

namespace attnscope::gui {
namespace {

void open_dialog(QFileDialog* dialog, std::function<void(const QString&)> chosen) {
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  QObject::connect(dialog, &QFileDialog::fileSelected, dialog->parent(), std::move(chosen));
  dialog->open();
}

}  // namespace

void ask_for_new_file(QWidget* parent, const QString& title, const QString& suggestion,
                      const QStringList& endings, std::function<void(const QString&)> chosen) {
  auto* dialog = new QFileDialog(parent, title);
  dialog->setAcceptMode(QFileDialog::AcceptSave);
  dialog->setNameFilter(QStringLiteral("*.") + endings.join(QStringLiteral(" *.")));
  dialog->setDefaultSuffix(endings.first());
  dialog->selectFile(suggestion + QLatin1Char('.') + endings.first());
  open_dialog(dialog, std::move(chosen));
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

}  // namespace attnscope::gui
