#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// One of the papers' tables, read-only, with its citation and the machine that the paper names.

#include <QWidget>

#include "app/gui/models/rows_model.h"
#include "engine/report/published.h"

class QCheckBox;
class QLabel;
class QTableView;

namespace attnscope::gui {

class PublishedView : public QWidget {
  Q_OBJECT
 public:
  explicit PublishedView(QWidget* parent = nullptr);

  void show_table(const report::PublishedTable& table);
  [[nodiscard]] const report::PublishedTable& shown() const { return shown_; }
  void copy_table(report::TableFormat format) const;
  [[nodiscard]] QTableView* table() const { return table_; }
  /// Whether the table's numbers are to stand beside our own.
  [[nodiscard]] QCheckBox* beside() const { return beside_; }

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void paint_label();

  report::PublishedTable shown_;
  RowsModel<std::vector<std::string>> model_;
  QLabel* title_;
  QLabel* label_;
  QLabel* subject_;
  QLabel* source_;
  QCheckBox* beside_;
  QTableView* table_;
};

}  // namespace attnscope::gui
