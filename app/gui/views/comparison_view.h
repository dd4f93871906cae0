#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Comparisons of a run: with another run, cell by cell, and with the results that papers published,
// which are read-only.

#include <QWidget>
#include <memory>

#include "app/gui/models/rows_model.h"
#include "app/gui/session/snapshot.h"
#include "engine/report/published.h"

namespace attnscope::charts {
class RunChart;
}

namespace attnscope::gui {
namespace Ui {
class ComparisonView;
class PublishedView;
class SideBySideView;
}  // namespace Ui

/// One row per cell that both runs have, with its ratio and verdict.
class ComparisonModel : public RowsModel<report::ComparedLine> {
 public:
  enum Place { setting, contender, time_a, time_b, ratio, interval };
  enum Role {
    sort_role = Qt::UserRole + 1,  // the plain number, or the text
    verdict_role,                  // statistics::Verdict as int; invalid without a ratio
  };

  ComparisonModel();

  void set_comparison(const ComparisonPointer& comparison);
  [[nodiscard]] const ComparisonPointer& comparison() const { return comparison_; }

  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;

 private:
  [[nodiscard]] QVariant sort_key(int row, int column) const;

  ComparisonPointer comparison_;
};

/// Two runs compared cell by cell with verdicts, as a chart and as a table; above them the
/// conditions that differ, and how far the machine itself may have drifted between the runs.
class ComparisonView : public QWidget {
  Q_OBJECT
 public:
  explicit ComparisonView(QWidget* parent = nullptr);
  ~ComparisonView() override;

  void show_comparison(const ComparisonPointer& comparison);
  [[nodiscard]] bool has_table() const { return model_.rowCount() > 0; }
  [[nodiscard]] charts::RunChart* chart() const;
  void copy_table(report::TableFormat format);
  [[nodiscard]] bool has_figure() const;
  void export_figure();

 Q_SIGNALS:
  void closed();
  /// The same two runs, with A and B exchanged.
  void swap_requested(const QString& uuid_a, const QString& uuid_b);
  void succeeded(const QString& sentence);

 private:
  class Filter;

  std::unique_ptr<Ui::ComparisonView> ui_;
  ComparisonModel model_;
};

/// One of the papers' tables, with its citation and the machine that the paper names.
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
