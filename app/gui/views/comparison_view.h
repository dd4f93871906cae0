#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Two runs compared cell by cell with verdicts, as a chart and as a table; above them the
// conditions that differ, and how far the machine itself may have drifted between the runs.

#include <QWidget>
#include <memory>

#include "app/gui/models/rows_model.h"
#include "app/gui/session/snapshot.h"

namespace attnscope::charts {
class RunChart;
}

namespace attnscope::gui {
namespace Ui {
class ComparisonView;
}

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

}  // namespace attnscope::gui
