// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/reading_table.h"

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QScrollBar>
#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "app/gui/views/fields.h"

namespace attnscope::gui {
namespace {

/// Replaces field separators by spaces, and minus signs by hyphens, which other programs parse as
/// signs.
QString field(QString text) {
  return text.replace(QLatin1Char('\t'), QLatin1Char(' '))
      .replace(QLatin1Char('\n'), QLatin1Char(' '))
      .replace(QChar(u'−'), QLatin1Char('-'));
}

/// Empty without a selection.
QString selection_text(const QTableView& table) {
  if (table.selectionModel() == nullptr) return {};
  std::map<int, std::map<int, QString>> rows;  // by row, then by visual column
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

int height_of_rows(const QTableView& table, int most) {
  const int rows = table.model() == nullptr ? 0 : table.model()->rowCount();
  return table.horizontalHeader()->sizeHint().height() +
         std::min(rows, most) * table.verticalHeader()->defaultSectionSize() +
         table.horizontalScrollBar()->sizeHint().height() + 2 * table.frameWidth();
}

ReadingTable::ReadingTable(QWidget* parent) : QTableView(parent) {
  constexpr int rows_measured_for_widths = 100;
  setEditTriggers(QAbstractItemView::NoEditTriggers);
  setShowGrid(false);
  setAlternatingRowColors(true);
  setWordWrap(false);
  setTabKeyNavigation(false);
  setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  verticalHeader()->hide();
  verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 8);
  horizontalHeader()->setHighlightSections(false);
  horizontalHeader()->setResizeContentsPrecision(rows_measured_for_widths);
  add_action(this, tr("Copy selected cells"), QKeySequence::Copy, std::function<void()>([this] {
               if (const QString text = selection_text(*this); !text.isEmpty())
                 QApplication::clipboard()->setText(text);
             }));
  setContextMenuPolicy(Qt::ActionsContextMenu);
}

}  // namespace attnscope::gui
