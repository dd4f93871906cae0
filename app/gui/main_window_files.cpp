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
#include "engine/sweep/sweep.h"
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
    refuse_file(file, words(kind.error().message));
    return false;
  }
  switch (*kind) {
    case FileKind::database:
      store_.post(&StoreReader::try_database, file);
      return true;
    case FileKind::exported_runs:
      show_page(compare_page);
      store_.post(&StoreReader::import_file, file);
      return true;
    case FileKind::sweep:
      return open_sweep(file);
    case FileKind::pattern:
      show_page(patterns_page);
      return patterns()->open_file(file).has_value();
    case FileKind::dump:
      attention()->open_file(file);  // which remembers it once it is open
      show_page(attention_page);
      return true;
  }
  return false;
}

bool MainWindow::open_sweep(const QString& file) {
  const auto text = read_text_file(file.toStdString(), "sweep file", largest_sweep);
  const auto sweep =
      text.and_then([&](const std::string& json) { return parse_sweep(json, file.toStdString()); });
  if (!sweep) {
    refuse_file(file, words(sweep.error().message));
    return false;
  }
  open_new_run();
  if (!new_run_ || !new_run_->begin_with(words(*text))) return false;
  remember_file(file);
  return true;
}

// Nothing that is open changes; but whoever meant this sweep shall not start the one in the drawer.
void MainWindow::refuse_file(const QString& file, const QString& sentence) {
  show_page(compare_page);
  compare_->messages()->show_error(sentence);
  const bool meant_as_sweep = file.endsWith(QStringLiteral(".json"));
  if (meant_as_sweep && new_run_ && new_run_->is_open()) new_run_->refuse(sentence);
}

void MainWindow::wire_files() {
  connect(store_.reader(), &StoreReader::database_tried, this,
          [this](const QString& file, const QString& problem) {
            if (!problem.isEmpty()) return refuse_file(file, problem);
            remember_file(file);
            ask_for_window({.database = std::filesystem::absolute(file.toStdString())});
          });
  connect(store_.reader(), &StoreReader::file_imported, this,
          [this](const QString& file, const QString& uuid) {
            remember_file(file);
            compare_->choose_run(uuid);
          });
}

void MainWindow::import_runs() {
  show_page(compare_page);
  ask_for_file(this, tr("Import runs"), tr("Runs (*.attn)"),
               [this](const QString& file) { store_.post(&StoreReader::import_file, file); });
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (!local_files(*event->mimeData()).isEmpty()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  event->acceptProposedAction();
  for (const QString& file : local_files(*event->mimeData())) {
    if (!open_file(file)) return;  // its sentence stands; the next file's would replace it
  }
}

}  // namespace attnscope::gui
