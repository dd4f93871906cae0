#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The table under the charts: the run's cells along two keys, which a button lets one choose, each
// contender with the line and marker it has in the charts. What is copied or saved is what is
// shown.

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

  /// What it is asked to show; keys that the run has only one value of included.
  [[nodiscard]] report::PivotChoice choice() const { return choice_; }
  [[nodiscard]] QTableView* view() const { return view_; }

  /// Makes the cell the current one.
  void choose_row(std::size_t table_row);
  [[nodiscard]] std::string text(report::TableFormat format) const;

 Q_SIGNALS:
  /// Another choice() is wanted.
  void choice_changed();
  void row_chosen(qulonglong table_row);
  /// By Return or a double click; row_chosen() told which.
  void row_opened();
  void save_asked(attnscope::report::TableFormat format);

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
  bool choosing_ = false;  // choose_row() moves the current cell
};

}  // namespace attnscope::gui
