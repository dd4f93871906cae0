// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/shortcuts_dialog.h"

#include <QAction>
#include <QDialogButtonBox>
#include <QHeaderView>
#include <QMenu>
#include <QMenuBar>
#include <QTableView>
#include <QVBoxLayout>

#include "app/gui/views/page.h"

namespace attnscope::gui {
namespace {

/// Menu texts without the mark of their access key.
QString plain(QString text) {
  return text.remove(QLatin1Char('&'));
}

}  // namespace

ShortcutsDialog::ShortcutsDialog(const QMenuBar& menus, const QList<const Page*>& pages,
                                 QWidget* parent)
    : QDialog(parent) {
  setWindowTitle(tr("Keyboard shortcuts"));
  model_.setHorizontalHeaderLabels({tr("Where"), tr("What"), tr("Keys")});
  for (const QAction* action : menus.actions()) {
    if (action->menu() && action->objectName() != page_menu)
      add_menu(plain(action->text()), action->menu()->actions());
  }
  for (const Page* page : pages) {
    for (const Page::PageActions& group : page->page_actions())
      add_menu(group.where, group.actions);
  }
  const QString chart = tr("In a chart");
  add(chart, tr("Choose a series"), tr("Up, Down"));
  add(chart, tr("Walk along its values"), tr("Left, Right"));
  add(chart, tr("Hide or show it"), tr("Space"));
  add(chart, tr("Open the value's cell"), tr("Return"));
  add(chart, tr("Let go of the value"), tr("Escape"));
  add(tr("In a table"), tr("Copy the selected cells"), tr("Ctrl+C"));
  const QString everywhere = tr("Everywhere");
  add(everywhere, tr("Next and previous control"), tr("Tab, Shift+Tab"));
  add(everywhere, tr("Open the menus"), tr("F10"));

  auto* table = new QTableView;
  table->setModel(&model_);
  table->setAccessibleName(tr("Keyboard shortcuts"));
  table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setShowGrid(false);
  table->setAlternatingRowColors(true);
  table->setTabKeyNavigation(false);
  table->verticalHeader()->hide();
  table->horizontalHeader()->setStretchLastSection(true);
  table->resizeColumnsToContents();
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(table, 1);
  layout->addWidget(buttons);
  resize(fontMetrics().averageCharWidth() * 80, fontMetrics().height() * 30);
}

void ShortcutsDialog::add(const QString& where, const QString& what, const QString& keys) {
  model_.appendRow({new QStandardItem(where), new QStandardItem(what), new QStandardItem(keys)});
}

void ShortcutsDialog::add_menu(const QString& where, const QList<QAction*>& actions) {
  for (const QAction* action : actions) {
    if (action->menu()) {
      add_menu(QStringLiteral("%1, %2").arg(where, plain(action->text())),
               action->menu()->actions());
    } else if (!action->shortcut().isEmpty()) {
      add(where, plain(action->text()), action->shortcut().toString(QKeySequence::NativeText));
    }
  }
}

}  // namespace attnscope::gui
