// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/help_dialogs.h"

#include <fmt/core.h>

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QDialog>
#include <QDialogButtonBox>
#include <QFile>
#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QMenuBar>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScreen>
#include <QTableView>
#include <QVBoxLayout>
#include <nlohmann/json.hpp>
#include <vector>

#include "app/gui/models/rows_model.h"
#include "app/gui/session/text.h"
#include "app/gui/views/page.h"
#include "app/gui/views/theme.h"
#include "attnscope/build_info.h"
#include "engine/store/store.h"

namespace attnscope::gui {
namespace {

QString in_help(const char* text) {
  return QCoreApplication::translate("Help", text);
}

struct Shortcut {
  QString where, what, keys;
};

/// Menu texts without the mark of their access key.
QString plain(QString text) {
  return text.remove(QLatin1Char('&'));
}

void list_shortcuts(const QString& where, const QList<QAction*>& actions,
                    std::vector<Shortcut>& listed) {
  for (const QAction* action : actions) {
    if (action->menu()) {
      list_shortcuts(QStringLiteral("%1, %2").arg(where, plain(action->text())),
                     action->menu()->actions(), listed);
    } else if (!action->shortcut().isEmpty()) {
      listed.push_back(
          {where, plain(action->text()), action->shortcut().toString(QKeySequence::NativeText)});
    }
  }
}

std::vector<Shortcut> all_shortcuts(const QMenuBar& menus, const QList<const Page*>& pages) {
  std::vector<Shortcut> all;
  for (const QAction* action : menus.actions()) {
    if (action->menu() && action->objectName() != page_menu_name)
      list_shortcuts(plain(action->text()), action->menu()->actions(), all);
  }
  for (const Page* page : pages) {
    for (const Page::PageActions& group : page->page_actions())
      list_shortcuts(group.where, group.actions, all);
  }
  const QString chart = in_help("In a chart"), everywhere = in_help("Everywhere");
  all.insert(all.end(),
             {{chart, in_help("Choose a series"), in_help("Up, Down")},
              {chart, in_help("Walk along its values"), in_help("Left, Right")},
              {chart, in_help("Hide or show it"), in_help("Space")},
              {chart, in_help("Open the value's cell"), in_help("Return")},
              {chart, in_help("Let go of the value"), in_help("Escape")},
              {in_help("In a table"), in_help("Copy the selected cells"), in_help("Ctrl+C")},
              {everywhere, in_help("Next and previous control"), in_help("Tab, Shift+Tab")},
              {everywhere, in_help("Open the menus"), in_help("F10")}});
  return all;
}

QLabel* paragraph(const QString& text) {
  auto* label = new QLabel(text);
  label->setTextFormat(Qt::PlainText);
  label->setWordWrap(true);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  return label;
}

QString parts() {
  return in_help("Qt %1, SQLite %2, nlohmann-json %3.%4.%5, fmt %6.%7")
      .arg(QLatin1String(qVersion()), words(sqlite_version()))
      .arg(NLOHMANN_JSON_VERSION_MAJOR)
      .arg(NLOHMANN_JSON_VERSION_MINOR)
      .arg(NLOHMANN_JSON_VERSION_PATCH)
      .arg(FMT_VERSION / 10000)
      .arg(FMT_VERSION / 100 % 100);
}

QString citations() {
  QFile file(QStringLiteral(":/attnscope/citations.bib"));
  return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

/// With room for so many characters and lines; its buttons stand below what is put into its layout.
QDialog* make_dialog(const char* name, const QString& title, QSize characters, QWidget* parent) {
  auto* dialog = new QDialog(parent);
  dialog->setObjectName(QLatin1String(name));
  dialog->setWindowTitle(title);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  new QVBoxLayout(dialog);
  const QFontMetrics text = dialog->fontMetrics();
  const QSize wanted(text.averageCharWidth() * characters.width(),
                     text.height() * characters.height());
  constexpr double of_screen = 0.85;  // with the frame around it the buttons stay on the screen
  dialog->resize(wanted.boundedTo(dialog->screen()->availableSize() * of_screen));
  return dialog;
}

QDialogButtonBox* add_buttons(QDialog& dialog) {
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
  QObject::connect(buttons, &QDialogButtonBox::rejected, &dialog, &QDialog::reject);
  dialog.layout()->addWidget(buttons);
  return buttons;
}

}  // namespace

void show_shortcuts(const QMenuBar& menus, const QList<const Page*>& pages, QWidget* parent) {
  using Shortcuts = RowsModel<Shortcut>;
  QDialog* dialog = make_dialog("shortcuts", in_help("Keyboard shortcuts"), {80, 30}, parent);
  const std::vector<Shortcuts::Column> columns{
      {.title = in_help("Where"), .text = [](const Shortcut& row) { return row.where; }},
      {.title = in_help("What"), .text = [](const Shortcut& row) { return row.what; }},
      {.title = in_help("Keys"), .text = [](const Shortcut& row) { return row.keys; }}};
  auto* model = new Shortcuts(columns);
  model->setParent(dialog);
  model->set_rows(all_shortcuts(menus, pages));
  auto* table = new QTableView;
  table->setModel(model);
  table->setAccessibleName(in_help("Keyboard shortcuts"));
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setShowGrid(false);
  table->setAlternatingRowColors(true);
  table->setTabKeyNavigation(false);
  table->verticalHeader()->hide();
  table->horizontalHeader()->setStretchLastSection(true);
  table->resizeColumnsToContents();
  dialog->layout()->addWidget(table);
  add_buttons(*dialog);
  dialog->open();
}

void show_about(const std::filesystem::path& database, QWidget* parent) {
  QDialog* dialog = make_dialog("about", in_help("About AttnScope"), {90, 32}, parent);
  auto* title = new QLabel(QStringLiteral("AttnScope %1").arg(QLatin1String(ATTNSCOPE_VERSION)));
  set_text(title, TextSize::title);
  auto* bibtex = new QPlainTextEdit(citations());
  bibtex->setReadOnly(true);
  bibtex->setAccessibleName(in_help("Papers to cite, as BibTeX"));
  bibtex->setLineWrapMode(QPlainTextEdit::NoWrap);
  bibtex->setTabChangesFocus(true);
  auto* papers =
      new QLabel(in_help("&Papers to cite: the first for sparse cross-encoders, the others "
                         "for what else you compare with."));
  papers->setWordWrap(true);
  papers->setBuddy(bibtex);
  const QString build = in_help("Commit %1, built with %2. %3.")
                            .arg(QLatin1String(ATTNSCOPE_GIT_COMMIT).left(12),
                                 QLatin1String(ATTNSCOPE_COMPILER), parts());
  for (QWidget* part : std::initializer_list<QWidget*>{
           title,
           paragraph(in_help("Which attention your re-ranker should use at your lengths: what it "
                             "costs in time and memory on this machine, and what it attends to.")),
           paragraph(build), paragraph(in_help("Database: %1").arg(words(database.string()))),
           paragraph(in_help("This window is free software under the GNU General Public License, "
                             "version 3 or later; kernels, engine and worker are under the Apache "
                             "License 2.0.")),
           papers, bibtex}) {
    dialog->layout()->addWidget(part);
  }
  QPushButton* copy =
      add_buttons(*dialog)->addButton(in_help("Copy BibTeX"), QDialogButtonBox::ActionRole);
  copy->setObjectName(QStringLiteral("copy_bibtex"));
  QObject::connect(copy, &QPushButton::clicked, dialog,
                   [] { QApplication::clipboard()->setText(citations()); });
  dialog->open();
}

}  // namespace attnscope::gui
