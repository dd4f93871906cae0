#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The table under the charts: the run's cells along two keys, with selectors for rows, columns and
// cells, or the plain list of all of them. What is copied or saved is what is shown.

#include <QSortFilterProxyModel>
#include <QWidget>
#include <optional>

#include "app/gui/models/cell_table_model.h"
#include "app/gui/models/pivot_table_model.h"
#include "app/gui/session/snapshot.h"

class QComboBox;
class QLabel;
class QPushButton;
class QStackedWidget;
class QTableView;

namespace attnscope::gui {

class CellDelegate;

class RunTable : public QWidget {
  Q_OBJECT
 public:
  explicit RunTable(QWidget* parent = nullptr);

  void show_run(const RunPointer& run);
  [[nodiscard]] const RunPointer& run() const { return list_model_.run(); }

  /// What the two-key form is asked to show; keys that the run has only one value of included.
  [[nodiscard]] report::PivotChoice choice() const { return choice_; }
  void show_list(bool list);
  [[nodiscard]] bool shows_list() const;
  [[nodiscard]] QTableView* list() const { return list_; }
  [[nodiscard]] QTableView* pivot() const { return pivot_; }
  /// The one that is shown.
  [[nodiscard]] QTableView* shown() const;

  /// Makes the cell the current one in both forms.
  void choose_row(std::size_t table_row);
  [[nodiscard]] std::string text(report::TableFormat format) const;

 Q_SIGNALS:
  /// Another choice() is wanted.
  void choice_changed();
  void row_chosen(qulonglong table_row);
  void save_asked(attnscope::report::TableFormat format);

 private:
  QWidget* build_selectors();
  void prepare(QTableView* table, const QString& name, const QString& accessible_name);
  void show_selectors(const RunSnapshot& run);
  void choose_keys(bool rows_changed);
  void fit_columns(QTableView* table, bool keeps_widths);
  void span_headings();
  void remember() const;

  QComboBox* form_;
  QComboBox* rows_;
  QComboBox* columns_;
  QComboBox* cells_;
  QPushButton* save_;
  QLabel* problem_;
  QList<QWidget*> of_pivot_;
  QTableView* list_;
  QTableView* pivot_;
  QStackedWidget* stack_;
  CellDelegate* delegate_;
  CellTableModel list_model_;
  PivotTableModel pivot_model_;
  QSortFilterProxyModel proxy_;
  report::PivotChoice choice_;
  bool choosing_ = false;  // choose_row() moves the current cell
};

}  // namespace attnscope::gui
