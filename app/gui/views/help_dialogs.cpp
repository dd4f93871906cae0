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
#include <QMenu>
#include <QMenuBar>
#include <QPushButton>
#include <QScreen>
#include <nlohmann/json.hpp>
#include <vector>

#include "app/gui/models/rows_model.h"
#include "app/gui/session/text.h"
#include "app/gui/views/page.h"
#include "app/gui/views/theme.h"
#include "attnscope/build_info.h"
#include "engine/store/store.h"
#include "views/ui_about.h"
#include "views/ui_shortcuts.h"

namespace attnscope::gui {
namespace {

QString in_help(const char* text) {
  return QCoreApplication::translate("Help", text);
}

struct Shortcut {
  QString where, what, keys;
};

/// Menu text without the access key marker.
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
              {chart, in_help("Move along its values"), in_help("Left, Right")},
              {chart, in_help("Hide or show it"), in_help("Space")},
              {chart, in_help("Open the value's cell"), in_help("Return")},
              {chart, in_help("Deselect the value"), in_help("Escape")},
              {in_help("In a table"), in_help("Copy the selected cells"), in_help("Ctrl+C")},
              {everywhere, in_help("Next and previous control"), in_help("Tab, Shift+Tab")},
              {everywhere, in_help("Open the menus"), in_help("F10")}});
  return all;
}

QString parts() {
  return in_help("Qt %1, SQLite %2, nlohmann-json %3.%4.%5, fmt %6.%7")
      .arg(QLatin1String(qVersion()), qstring(sqlite_version()))
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

/// A dialog with room for the given numbers of characters and lines.
QDialog* make_dialog(QSize characters, QWidget* parent) {
  auto* dialog = new QDialog(parent);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  const QFontMetrics text = dialog->fontMetrics();
  const QSize wanted(text.averageCharWidth() * characters.width(),
                     text.height() * characters.height());
  constexpr double of_screen = 0.85;  // with the window frame, the buttons stay on the screen
  dialog->resize(wanted.boundedTo(dialog->screen()->availableSize() * of_screen));
  return dialog;
}

}  // namespace

void show_shortcuts(const QMenuBar& menus, const QList<const Page*>& pages, QWidget* parent) {
  using Rows = RowsModel<Shortcut>;
  QDialog* dialog = make_dialog({80, 30}, parent);
  Ui::Shortcuts form;
  form.setupUi(dialog);
  const std::vector<Rows::Column> columns{
      {.title = in_help("Where"), .text = [](const Shortcut& row) { return row.where; }},
      {.title = in_help("What"), .text = [](const Shortcut& row) { return row.what; }},
      {.title = in_help("Keys"), .text = [](const Shortcut& row) { return row.keys; }}};
  auto* model = new Rows(columns);
  model->setParent(dialog);
  model->set_rows(all_shortcuts(menus, pages));
  form.table->setModel(model);
  form.table->verticalHeader()->hide();
  form.table->horizontalHeader()->setStretchLastSection(true);
  form.table->resizeColumnsToContents();
  QObject::connect(form.buttons, &QDialogButtonBox::rejected, dialog, &QDialog::reject);
  dialog->open();
}

void show_about(const std::filesystem::path& database, QWidget* parent) {
  QDialog* dialog = make_dialog({90, 32}, parent);
  Ui::About form;
  form.setupUi(dialog);
  form.title->setText(QStringLiteral("AttnScope %1").arg(QLatin1String(ATTNSCOPE_VERSION)));
  set_text(form.title, TextSize::title);
  form.build->setText(in_help("Commit %1, built with %2. %3.")
                          .arg(QLatin1String(ATTNSCOPE_GIT_COMMIT).left(12),
                               QLatin1String(ATTNSCOPE_COMPILER), parts()));
  form.database->setText(in_help("Database: %1").arg(qstring(database.string())));
  form.bibtex->setPlainText(citations());
  QObject::connect(form.buttons, &QDialogButtonBox::rejected, dialog, &QDialog::reject);
  QPushButton* copy = form.buttons->addButton(in_help("Copy BibTeX"), QDialogButtonBox::ActionRole);
  copy->setObjectName(QStringLiteral("copy_bibtex"));
  QObject::connect(copy, &QPushButton::clicked, dialog,
                   [] { QApplication::clipboard()->setText(citations()); });
  dialog->open();
}

}  // namespace attnscope::gui
