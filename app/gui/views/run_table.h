#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The table below the charts: the run's cells along two keys, selected with a button, each
// contender with its line and marker of the charts. Copying and saving use the displayed table.

#include <QWidget>

#include "app/gui/models/pivot_table_model.h"
#include "app/gui/session/snapshot.h"

class QComboBox;
class QLabel;
class QLayout;
class QPushButton;
class QTableView;

namespace attnscope::gui {

class PopupButton;

class RunTable : public QWidget {
  Q_OBJECT
 public:
  explicit RunTable(QWidget* parent = nullptr);

  void show_run(const RunPointer& run);

  /// The requested choice, including keys for which the run has only one value.
  [[nodiscard]] report::PivotChoice choice() const { return choice_; }
  [[nodiscard]] QTableView* view() const { return view_; }

  /// Makes the cell the current one.
  void choose_row(std::size_t table_row);
  [[nodiscard]] std::string text(report::TableFormat format) const;

 Q_SIGNALS:
  /// A different choice() is requested.
  void choice_changed();
  void row_chosen(qulonglong table_row);
  /// By Return or a double click, for the row of the last row_chosen().
  void row_opened();
  void save_requested(attnscope::report::TableFormat format);

 private:
  class Delegate;
  QLayout* build_head();
  void wire();
  void show_selectors(const RunSnapshot& run);
  void show_marks(const report::Pivot& pivot);
  void choose_keys(bool rows_changed);
  void fit_columns(bool keeps_widths);
  void span_headings();

  PivotTableModel model_;
  QComboBox *rows_ = nullptr, *columns_ = nullptr, *cells_ = nullptr;
  PopupButton* choices_ = nullptr;
  QPushButton* save_;
  QLabel* problem_;
  QTableView* view_;
  QLabel* marks_;
  Delegate* delegate_;
  report::PivotChoice choice_;
  bool choosing_ = false;  // choose_row() is changing the current cell
};

}  // namespace attnscope::gui
