#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The papers' published results, read-only: one of their tables, with its citation and the machine
// that the paper names; and their times and memory next to a run's.

#include <QWidget>
#include <memory>

#include "app/gui/models/rows_model.h"
#include "app/gui/session/snapshot.h"
#include "engine/report/published.h"

namespace attnscope::gui {
namespace Ui {
class SideBySideView;
class PublishedView;
}  // namespace Ui

class PublishedView : public QWidget {
  Q_OBJECT
 public:
  explicit PublishedView(QWidget* parent = nullptr);
  ~PublishedView() override;

  void show_table(const report::PublishedTable& table);
  [[nodiscard]] const report::PublishedTable& shown() const { return shown_; }
  void copy_table(report::TableFormat format) const;

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void paint_label();

  report::PublishedTable shown_;
  RowsModel<std::vector<std::string>> model_;
  std::unique_ptr<Ui::PublishedView> ui_;
};

/// The paper's times and memory next to ours, or a sentence that lists the cells that are missing.
class SideBySideView : public QWidget {
  Q_OBJECT
 public:
  explicit SideBySideView(QWidget* parent = nullptr);
  ~SideBySideView() override;

  /// Null: no run is shown.
  void show_run(const RunPointer& run);

 private:
  RunPointer run_;  // owns the rows that the model points to
  RowsModel<report::PublishedComparison> model_;
  std::unique_ptr<Ui::SideBySideView> ui_;
};

}  // namespace attnscope::gui
