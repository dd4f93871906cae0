#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The right side of page Patterns: the cost of one forward call of pattern A, next to B, as a
// table, and the run that measures it.

#include <QWidget>
#include <memory>
#include <optional>

#include "app/gui/models/pattern_counts.h"
#include "app/gui/models/rows_model.h"
#include "app/gui/session/latest_job.h"
#include "app/gui/session/worker_questions.h"
#include "app/gui/views/pattern_masks.h"

namespace attnscope::gui {
namespace Ui {
class PatternCosts;
}

/// The rows, in separate columns or stacked in one.
class CostsModel : public RowsModel<CostRow> {
 public:
  void show_rows(const std::vector<CostRow>& rows, const QStringList& values, bool stacked);
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;

 private:
  std::vector<CostRow> rows_;
};

class PatternCosts : public QWidget {
  Q_OBJECT
 public:
  explicit PatternCosts(QWidget* parent = nullptr);
  ~PatternCosts() override;

  void show_costs(const TitledMask& a, const std::optional<TitledMask>& b, const LayoutItem& item,
                  int heads, int head_dim);
  void set_machine(const std::optional<MachineCeilings>& machine);
  /// While a run is measured, no worker is started.
  void set_measuring(bool measuring);
  [[nodiscard]] bool is_measuring() const { return is_measuring_; }

  /// A sweep of pattern A compared with full attention, with every implementation that supports it;
  /// an error states why there is none now.
  [[nodiscard]] Result<QString> sweep() const;
  [[nodiscard]] bool has_counts() const { return counted_.a && *counted_.a; }
  /// The table, for copying.
  [[nodiscard]] report::Sheet sheet() const;

 Q_SIGNALS:
  void run_requested();
  /// The counts are ready.
  void table_changed();

 protected:
  void showEvent(QShowEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  struct Counted {
    std::optional<Result<PatternCounts>> a, b;  // none: not counted yet
  };
  void build_table();
  void ask();
  void take(Counted counted);
  void refresh();
  void refresh_run();
  void arrange();
  void fit();
  [[nodiscard]] int longest_word() const;
  [[nodiscard]] bool may_be_requested() const;
  /// Ids of the implementations that support pattern A.
  [[nodiscard]] QStringList ids() const;

  std::unique_ptr<Ui::PatternCosts> ui_;
  CostsModel model_;
  std::vector<CostRow> rows_;
  std::optional<TitledMask> a_, b_;
  LayoutItem item_;
  int heads_ = 0, head_dim_ = 0;
  std::optional<MachineCeilings> machine_;
  Counted counted_;
  bool is_measuring_ = false;
  ImplementationCosts a_implementations_, b_implementations_;
  LatestJob counter_;
};

}  // namespace attnscope::gui
