// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/reading_table.h"

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QTableView>
#include <map>
#include <set>

#include "app/gui/views/fields.h"

namespace attnscope::gui {
namespace {

/// A field cannot hold what separates fields.
QString field(QString text) {
  return text.replace(QLatin1Char('\t'), QLatin1Char(' '))
      .replace(QLatin1Char('\n'), QLatin1Char(' '));
}

/// Empty without a selection.
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

}  // namespace

QTableView* reading_table(const char* name, const QString& accessible_name,
                          QAbstractItemModel* model) {
  constexpr int rows_measured_for_widths = 100;
  auto* table = new QTableView;
  table->setObjectName(QLatin1String(name));
  table->setAccessibleName(accessible_name);
  table->setModel(model);
  table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table->setShowGrid(false);
  table->setAlternatingRowColors(true);
  table->setWordWrap(false);
  table->setTabKeyNavigation(false);
  table->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  table->verticalHeader()->hide();
  table->verticalHeader()->setDefaultSectionSize(table->fontMetrics().height() + 8);
  table->horizontalHeader()->setHighlightSections(false);
  table->horizontalHeader()->setResizeContentsPrecision(rows_measured_for_widths);
  add_action(table, QTableView::tr("Copy selected cells"), QKeySequence::Copy, [table] {
    if (const QString text = selection_text(*table); !text.isEmpty())
      QApplication::clipboard()->setText(text);
  });
  table->setContextMenuPolicy(Qt::ActionsContextMenu);
  return table;
}

}  // namespace attnscope::gui
