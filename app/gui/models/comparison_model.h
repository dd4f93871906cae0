#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Two runs set side by side: one row a cell that both have, with what its ratio says.

#include "app/gui/models/rows_model.h"
#include "app/gui/session/snapshot.h"

namespace attnscope::gui {

class ComparisonModel : public RowsModel<report::ComparedLine> {
 public:
  enum Place { setting, contender, time_a, time_b, ratio, interval, column_count };
  enum Role {
    sort_role = Qt::UserRole + 1,  // the bare number, or the text
    style_key_role,                // contender id, bound to the line style of the charts
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

}  // namespace attnscope::gui
