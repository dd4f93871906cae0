// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/figure_table.h"

#include <QApplication>
#include <QClipboard>
#include <QDialogButtonBox>
#include <QFontMetrics>
#include <QHeaderView>
#include <QPushButton>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "app/gui/charts/axis_scale.h"

namespace attnscope::charts {
namespace {

QVariant number(const std::optional<double>& value, int digits) {
  return value ? QVariant(number_text(*value, digits)) : QVariant();
}

}  // namespace

void FigureTableModel::set_figure(const report::Figure& figure) {
  beginResetModel();
  entries_.clear();
  x_label_ = QString::fromUtf8(figure.x_label);
  y_label_ = QString::fromUtf8(figure.y_label);
  for (const report::Series& series : figure.series) {
    const QString name = QString::fromUtf8(series.name);
    for (const report::Point& point : series.points) {
      const bool interval = point.low < point.high;
      entries_.push_back({name,
                          QString::fromUtf8(point.label),
                          QStringLiteral("ok"),
                          {},
                          point.x,
                          point.y,
                          interval ? std::optional(point.low) : std::nullopt,
                          interval ? std::optional(point.high) : std::nullopt});
    }
    for (const report::RailMark& mark : series.rail) {
      entries_.push_back({name, QString::fromUtf8(mark.label), QString::fromUtf8(mark.word()),
                          QString::fromUtf8(mark.reason), mark.x,
                          mark.value ? std::optional(mark.value->y) : std::nullopt, std::nullopt,
                          std::nullopt});
    }
  }
  for (const report::Ceiling& ceiling : figure.ceilings) {
    entries_.push_back({QString::fromUtf8(ceiling.text),
                        {},
                        tr("ceiling"),
                        {},
                        ceiling.per_x ? std::optional(1.0) : std::nullopt,
                        ceiling.rate,
                        std::nullopt,
                        std::nullopt});
  }
  has_labels_ =
      std::ranges::any_of(entries_, [](const Entry& entry) { return !entry.label.isEmpty(); });
  endResetModel();
}

int FigureTableModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(entries_.size());
}

int FigureTableModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : column_count;
}

QVariant FigureTableModel::cell(const Entry& entry, int column) const {
  switch (column) {
    case series_column:
      return entry.series;
    case label_column:
      return entry.label;
    case x_column:
      return number(entry.x, 6);
    case y_column:
      return number(entry.y, 4);
    case low_column:
      return number(entry.low, 4);
    case high_column:
      return number(entry.high, 4);
    default:
      return entry.reason.isEmpty() ? entry.status
                                    : entry.status + QStringLiteral(": ") + entry.reason;
  }
}

QVariant FigureTableModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Entry& entry = entries_[static_cast<std::size_t>(index.row())];
  const bool is_number = index.column() >= x_column && index.column() <= high_column;
  if (role == Qt::TextAlignmentRole) {
    return QVariant(is_number ? Qt::AlignRight | Qt::AlignVCenter
                              : Qt::AlignLeft | Qt::AlignVCenter);
  }
  if (role == Qt::ToolTipRole && index.column() == status_column && !entry.reason.isEmpty()) {
    return entry.reason;
  }
  return role == Qt::DisplayRole ? cell(entry, index.column()) : QVariant();
}

QVariant FigureTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  switch (section) {
    case series_column:
      return tr("Contender");
    case label_column:
      return tr("Cell");
    case x_column:
      return x_label_;
    case y_column:
      return y_label_;
    case low_column:
      return tr("95% from");
    case high_column:
      return tr("to");
    case status_column:
      return tr("Status");
    default:
      return {};
  }
}

QString FigureTableModel::text() const {
  QString text;
  const auto add_row = [&](const auto& field) {
    QStringList fields;
    for (int column = 0; column < column_count; ++column) {
      if (column == label_column && !has_labels_) continue;
      fields.append(field(column).toString());
    }
    text += fields.join(QLatin1Char('\t')) + QLatin1Char('\n');
  };
  add_row([this](int column) { return headerData(column, Qt::Horizontal, Qt::DisplayRole); });
  for (const Entry& entry : entries_) {
    add_row([&](int column) { return cell(entry, column); });
  }
  return text;
}

QString FigureTableModel::text_of(const report::Figure& figure) {
  FigureTableModel model;
  model.set_figure(figure);
  return model.text();
}

FigureTable::FigureTable(QWidget* chart) : QDialog(chart), view_(new QTableView) {
  setAttribute(Qt::WA_DeleteOnClose);
  view_->setModel(&model_);
  view_->setObjectName(QStringLiteral("figure_numbers"));
  view_->setAccessibleName(tr("Numbers of the chart"));
  view_->setSelectionBehavior(QAbstractItemView::SelectRows);
  view_->setAlternatingRowColors(true);
  view_->setTabKeyNavigation(false);
  view_->verticalHeader()->hide();
  view_->horizontalHeader()->setStretchLastSection(true);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
  QPushButton* copy = buttons->addButton(tr("&Copy all"), QDialogButtonBox::ActionRole);
  copy->setObjectName(QStringLiteral("copy_numbers"));
  copy->setShortcut(QKeySequence::Copy);
  copy->setToolTip(tr("Copies every row with tabs between the fields (%1)")
                       .arg(QKeySequence(QKeySequence::Copy).toString(QKeySequence::NativeText)));
  connect(copy, &QPushButton::clicked, this,
          [this] { QApplication::clipboard()->setText(model_.text()); });
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(view_, 1);
  layout->addWidget(buttons);
  const int em = fontMetrics().height();
  resize(48 * em, 26 * em);
}

void FigureTable::show_figure(const report::Figure& figure) {
  const bool first = model_.rowCount() == 0;
  model_.set_figure(figure);
  setWindowTitle(tr("Numbers: %1").arg(QString::fromUtf8(figure.y_label)));
  view_->setColumnHidden(FigureTableModel::label_column, !model_.has_labels());
  if (first) view_->resizeColumnsToContents();
}

}  // namespace attnscope::charts
