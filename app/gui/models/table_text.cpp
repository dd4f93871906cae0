// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/table_text.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

namespace attnscope::gui {
namespace {

using Rows = QList<QStringList>;

/// Headings first; the first column has the rows' own.
Rows rows_of(const QAbstractTableModel& model, const QString& corner) {
  Rows rows;
  QStringList headings{corner};
  for (int column = 0; column < model.columnCount(); ++column) {
    headings.append(model.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString());
  }
  rows.append(headings);
  for (int row = 0; row < model.rowCount(); ++row) {
    QStringList cells{model.headerData(row, Qt::Vertical, Qt::DisplayRole).toString()};
    for (int column = 0; column < model.columnCount(); ++column) {
      cells.append(model.index(row, column).data().toString());
    }
    rows.append(cells);
  }
  return rows;
}

QString csv_field(const QString& text) {
  if (!text.contains(QLatin1Char(',')) && !text.contains(QLatin1Char('"'))) return text;
  QString quoted = text;
  quoted.replace(QLatin1Char('"'), QStringLiteral("\"\""));
  return QLatin1Char('"') + quoted + QLatin1Char('"');
}

QString latex_cell(QString text) {
  for (const char special : {'&', '%', '#', '_', '$'}) {
    text.replace(QLatin1Char(special), QLatin1Char('\\') + QString(QLatin1Char(special)));
  }
  text.replace(QStringLiteral("×"), QStringLiteral("$\\times$"));
  text.replace(QStringLiteral("–"), QStringLiteral("--"));
  return text;
}

QString latex(const Rows& rows) {
  QString text = QStringLiteral("\\begin{tabular}{l%1}\n\\toprule\n")
                     .arg(QString(rows.front().size() - 1, QLatin1Char('r')));
  for (qsizetype row = 0; row < rows.size(); ++row) {
    QStringList cells;
    for (const QString& cell : rows[row]) cells.append(latex_cell(cell));
    text += cells.join(QStringLiteral(" & ")) + QStringLiteral(" \\\\\n");
    if (row == 0) text += QStringLiteral("\\midrule\n");
  }
  return text + QStringLiteral("\\bottomrule\n\\end{tabular}\n");
}

QString json(const Rows& rows) {
  QJsonArray array;
  for (const QStringList& row : rows.mid(1)) {
    QJsonObject object;
    for (qsizetype i = 0; i < row.size(); ++i) object.insert(rows.front()[i], row[i]);
    array.append(object);
  }
  return QString::fromUtf8(QJsonDocument(array).toJson());
}

QString markdown(const Rows& rows) {
  QString text;
  for (qsizetype row = 0; row < rows.size(); ++row) {
    text += QStringLiteral("| ") + rows[row].join(QStringLiteral(" | ")) + QStringLiteral(" |\n");
    if (row == 0) {
      text += QStringLiteral("| --- |") +
              QStringLiteral(" --: |").repeated(static_cast<int>(rows.front().size() - 1)) +
              QLatin1Char('\n');
    }
  }
  return text;
}

}  // namespace

QString table_text(const QAbstractTableModel& model, const QString& corner,
                   report::TableFormat format) {
  const Rows rows = rows_of(model, corner);
  switch (format) {
    case report::TableFormat::markdown:
      return markdown(rows);
    case report::TableFormat::latex:
      return latex(rows);
    case report::TableFormat::json:
      return json(rows);
    case report::TableFormat::text:
    case report::TableFormat::csv:
      break;
  }
  QString text;
  for (const QStringList& row : rows) {
    if (format == report::TableFormat::text) {
      text += row.join(QLatin1Char('\t')) + QLatin1Char('\n');
      continue;
    }
    QStringList fields;
    for (const QString& cell : row) fields.append(csv_field(cell));
    text += fields.join(QLatin1Char(',')) + QStringLiteral("\r\n");
  }
  return text;
}

}  // namespace attnscope::gui
