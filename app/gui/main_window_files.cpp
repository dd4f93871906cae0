// SPDX-License-Identifier: GPL-3.0-or-later
//
// What the window does with files: opened, dropped on it, imported.
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QMimeData>

#include "app/gui/main_window.h"
#include "app/gui/session/file_kind.h"
#include "app/gui/session/recent_files.h"
#include "app/gui/session/text.h"
#include "app/gui/views/attention_page.h"
#include "app/gui/views/compare_page.h"
#include "app/gui/views/file_dialogs.h"
#include "app/gui/views/message_bar.h"
#include "app/gui/views/new_run_drawer.h"
#include "app/gui/views/patterns_page.h"
#include "kernels/base/text_file.h"

namespace attnscope::gui {
namespace {

constexpr std::size_t largest_sweep = 1 << 20;  // bytes

QStringList local_files(const QMimeData& data) {
  QStringList files;
  for (const QUrl& url : data.urls()) {
    if (url.isLocalFile()) files.append(url.toLocalFile());
  }
  return files;
}

}  // namespace

void MainWindow::ask_for_open() {
  ask_for_file(this, tr("Open"),
               tr("All of AttnScope's (*.attn *.db *.json *.safetensors);;Runs (*.attn *.db);;"
                  "Sweeps and patterns (*.json);;Attention dumps (*.safetensors);;All files (*)"),
               [this](const QString& file) { open_file(file); });
}

bool MainWindow::open_file(const QString& file) {
  const Result<FileKind> kind = kind_of(file.toStdString());
  if (!kind) {
    show_page(compare_page);
    compare_->messages()->show_error(words(kind.error().message));
    return false;
  }
  remember_file(file);
  switch (*kind) {
    case FileKind::database:
    case FileKind::exported_runs:
      ask_for_window({.database = std::filesystem::absolute(file.toStdString())});
      return true;
    case FileKind::sweep:
      return open_sweep(file);
    case FileKind::pattern:
      show_page(patterns_page);
      return patterns()->open_file(file).has_value();
    case FileKind::dump:
      attention()->open_file(file);
      show_page(attention_page);
      return true;
  }
  return false;
}

bool MainWindow::open_sweep(const QString& file) {
  const auto text = read_text_file(file.toStdString(), "sweep file", largest_sweep);
  if (!text) {
    compare_->messages()->show_error(words(text.error().message));
    return false;
  }
  open_new_run();
  return new_run_ != nullptr && new_run_->begin_with(words(*text));
}

void MainWindow::import_runs() {
  show_page(compare_page);
  ask_for_file(this, tr("Import runs"), tr("Runs (*.attn)"),
               [this](const QString& file) { store_.import_file(file); });
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (!local_files(*event->mimeData()).isEmpty()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  event->acceptProposedAction();
  for (const QString& file : local_files(*event->mimeData())) {
    // Whoever drops runs onto their own wants to have them there.
    if (const auto kind = kind_of(file.toStdString()); kind && *kind == FileKind::exported_runs) {
      show_page(compare_page);
      store_.import_file(file);
    } else if (!open_file(file)) {
      return;  // its sentence stands; the next file's would replace it
    }
  }
}

}  // namespace attnscope::gui
