// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/table_selection.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QTableView>
#include <map>
#include <set>

namespace attnscope::gui {
namespace {

/// A field cannot hold what separates fields.
QString field(QString text) {
  return text.replace(QLatin1Char('\t'), QLatin1Char(' '))
      .replace(QLatin1Char('\n'), QLatin1Char(' '));
}

}  // namespace

QString selection_text(const QTableView& table) {
  if (table.selectionModel() == nullptr) return {};
  std::map<int, std::map<int, QString>> rows;  // by row, then by place on the screen
  std::set<int> columns;
  const QModelIndexList selected = table.selectionModel()->selectedIndexes();
  for (const QModelIndex& index : selected) {
    if (table.isColumnHidden(index.column())) continue;
    const int place = table.horizontalHeader()->visualIndex(index.column());
    columns.insert(place);
    rows[index.row()][place] = field(index.data().toString());
  }
  if (rows.empty()) return {};
  QStringList head;
  for (const int place : columns) {
    const int column = table.horizontalHeader()->logicalIndex(place);
    head.append(field(table.model()->headerData(column, Qt::Horizontal).toString()));
  }
  QStringList lines{head.join(QLatin1Char('\t'))};
  for (const auto& [row, fields] : rows) {
    QStringList line;
    for (const int place : columns) {
      const auto found = fields.find(place);
      line.append(found == fields.end() ? QString() : found->second);
    }
    lines.append(line.join(QLatin1Char('\t')));
  }
  return lines.join(QLatin1Char('\n')) + QLatin1Char('\n');
}

void copy_selection_by_keyboard(QTableView* table) {
  auto* copy = new QAction(QTableView::tr("Copy selected cells"), table);
  copy->setShortcut(QKeySequence::Copy);
  copy->setShortcutContext(Qt::WidgetShortcut);
  QObject::connect(copy, &QAction::triggered, table, [table] {
    if (const QString text = selection_text(*table); !text.isEmpty())
      QApplication::clipboard()->setText(text);
  });
  table->addAction(copy);
  table->setContextMenuPolicy(Qt::ActionsContextMenu);
}

}  // namespace attnscope::gui
