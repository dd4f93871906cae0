// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/figure_table.h"

#include <QApplication>
#include <QClipboard>
#include <QDialogButtonBox>
#include <QFontMetrics>
#include <QHeaderView>
#include <QPushButton>
#include <QScreen>
#include <QScrollBar>
#include <QTableWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "app/drawing/axis_scale.h"
#include "engine/report/sheet.h"

namespace attnscope::charts {
namespace {

std::string number(const std::optional<double>& value, int digits) {
  return value ? number_text(*value, digits).toStdString() : std::string();
}

/// "ok", or the status with its reason.
std::string outcome_of(std::string_view status, const std::string& reason) {
  return reason.empty() ? std::string(status) : std::string(status) + ": " + reason;
}

/// Adds a column of cell labels if cells differ in more than their x.
report::Sheet sheet_of(const report::Figure& figure) {
  const bool has_labels = std::ranges::any_of(figure.series, [](const report::Series& series) {
    const auto is_labelled = [](const auto& mark) { return !mark.label.empty(); };
    return std::ranges::any_of(series.points, is_labelled) ||
           std::ranges::any_of(series.rail, is_labelled);
  });
  report::Sheet sheet{.columns = {{"", "Contender", false}}};
  if (has_labels) sheet.columns.push_back({"", "Cell", false});
  for (const std::string& title :
       {figure.x_label, figure.y_label, std::string("95% from"), std::string("to")})
    sheet.columns.push_back({"", title});
  sheet.columns.push_back({"", "Status", false});
  const auto add = [&](const std::string& name, const std::string& label, std::optional<double> x,
                       std::optional<double> y, std::optional<report::Point> interval,
                       const std::string& outcome) {
    std::vector<report::SheetCell> row{name};
    if (has_labels) row.emplace_back(label);
    const std::string place = x ? report::name_on_x(figure, *x) : std::string();
    row.emplace_back(place.empty() ? number(x, 6) : place);
    row.emplace_back(number(y, 4));
    row.emplace_back(interval ? number(interval->low, 4) : "");
    row.emplace_back(interval ? number(interval->high, 4) : "");
    row.emplace_back(outcome);
    sheet.add(std::move(row));
  };
  for (const report::Series& series : figure.series) {
    for (const report::Point& point : series.points) {
      add(series.name, point.label, point.x, point.y,
          point.low < point.high ? std::optional(point) : std::nullopt, "ok");
    }
    for (const report::RailMark& mark : series.rail) {
      add(series.name, mark.label, mark.x, mark.value ? std::optional(mark.value->y) : std::nullopt,
          {}, outcome_of(mark.word(), mark.reason));
    }
  }
  for (const report::Ceiling& ceiling : figure.ceilings) {
    add(ceiling.text, "", ceiling.per_x ? std::optional(1.0) : std::nullopt, ceiling.rate, {},
        "ceiling");
  }
  return sheet;
}

}  // namespace

QString numbers_text(const report::Figure& figure) {
  return QString::fromStdString(report::write_tabbed(sheet_of(figure)));
}

FigureTable::FigureTable(QWidget* chart) : QDialog(chart), view_(new QTableWidget) {
  setAttribute(Qt::WA_DeleteOnClose);
  view_->setObjectName(QStringLiteral("figure_numbers"));
  view_->setAccessibleName(tr("Numbers of the chart"));
  view_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  view_->setSelectionBehavior(QAbstractItemView::SelectRows);
  view_->setAlternatingRowColors(true);
  view_->setTabKeyNavigation(false);
  view_->setShowGrid(false);
  view_->setWordWrap(false);
  view_->verticalHeader()->hide();
  view_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 8);
  view_->horizontalHeader()->setStretchLastSection(true);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
  QPushButton* copy = buttons->addButton(tr("&Copy all"), QDialogButtonBox::ActionRole);
  copy->setObjectName(QStringLiteral("copy_numbers"));
  copy->setShortcut(QKeySequence::Copy);
  copy->setToolTip(tr("Copies every row with tabs between the fields (%1)")
                       .arg(QKeySequence(QKeySequence::Copy).toString(QKeySequence::NativeText)));
  connect(copy, &QPushButton::clicked, this, [this] { QApplication::clipboard()->setText(text_); });
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(view_, 1);
  layout->addWidget(buttons);
}

void FigureTable::show_figure(const report::Figure& figure) {
  const bool first = view_->rowCount() == 0;
  const report::Sheet sheet = sheet_of(figure);
  text_ = numbers_text(figure);
  setWindowTitle(tr("Numbers: %1").arg(QString::fromUtf8(figure.y_label)));
  const std::vector<std::vector<report::SheetCell>> none;
  const auto& rows = sheet.blocks.empty() ? none : sheet.blocks.front().rows;
  view_->setColumnCount(static_cast<int>(sheet.columns.size()));
  view_->setRowCount(static_cast<int>(rows.size()));
  QStringList titles;
  for (std::size_t column = 0; column < sheet.columns.size(); ++column) {
    titles.append(QString::fromUtf8(sheet.columns[column].title));
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const QString text = QString::fromStdString(report::text_of(rows[row][column].value));
      auto* item = new QTableWidgetItem(text);
      item->setToolTip(text);
      item->setTextAlignment(Qt::AlignVCenter |
                             (sheet.columns[column].is_number ? Qt::AlignRight : Qt::AlignLeft));
      view_->setItem(static_cast<int>(row), static_cast<int>(column), item);
    }
  }
  view_->setHorizontalHeaderLabels(titles);
  if (!first) return;
  view_->resizeColumnsToContents();
  // As wide as its columns, limited by the screen.
  const int em = fontMetrics().height();
  int width = view_->verticalScrollBar()->sizeHint().width() + 3 * em;
  const QAbstractItemView& cells = *view_;
  for (int column = 0; column < view_->columnCount(); ++column) {
    width += std::max(cells.sizeHintForColumn(column),
                      view_->horizontalHeader()->sectionSizeHint(column));
  }
  resize(QSize(width, 26 * em).boundedTo(0.9 * screen()->availableSize()));
}

}  // namespace attnscope::charts
