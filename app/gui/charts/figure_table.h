#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The numbers that a chart draws, as a table: a model over report::Figure and the small window that
// shows it beside its chart.

#include <QAbstractTableModel>
#include <QDialog>
#include <vector>

#include "engine/report/figure.h"

class QTableView;

namespace attnscope::charts {

class FigureTableModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column {
    series_column,
    label_column,
    x_column,
    y_column,
    low_column,
    high_column,
    status_column,
    column_count
  };

  using QAbstractTableModel::QAbstractTableModel;
  void set_figure(const report::Figure& figure);

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

  /// Every row with its headings, fields separated by tabs, as spreadsheets take it.
  [[nodiscard]] QString text() const;
  [[nodiscard]] static QString text_of(const report::Figure& figure);
  /// Whether any value is told apart by more than its x.
  [[nodiscard]] bool has_labels() const { return has_labels_; }

 private:
  struct Entry {
    QString series, label, status, reason;
    std::optional<double> x, y, low, high;
  };
  [[nodiscard]] QVariant cell(const Entry& entry, int column) const;

  std::vector<Entry> entries_;
  QString x_label_, y_label_;
  bool has_labels_ = false;
};

/// Not modal; Escape closes it. Ctrl+C copies all of it.
class FigureTable : public QDialog {
  Q_OBJECT
 public:
  explicit FigureTable(QWidget* chart);
  void show_figure(const report::Figure& figure);
  [[nodiscard]] const FigureTableModel& model() const { return model_; }

 private:
  FigureTableModel model_;
  QTableView* view_;
};

}  // namespace attnscope::charts
