#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The right of page Patterns: what one forward call of pattern A costs, beside B, as a table.

#include <QWidget>
#include <optional>

#include "app/gui/charts/latest_job.h"
#include "app/gui/models/pattern_costs_model.h"
#include "app/gui/views/pattern_masks.h"

class QLabel;
class QTableView;

namespace attnscope::gui {

class ProblemLabel;

class PatternCosts : public QWidget {
  Q_OBJECT
 public:
  explicit PatternCosts(QWidget* parent = nullptr);

  void show_costs(const TitledMask& a, const std::optional<TitledMask>& b, const LayoutItem& item,
                  int heads, int head_dim);
  void set_machine(const std::optional<MachineCeilings>& machine);
  /// A measurement goes on: nobody starts a worker beside it.
  void set_measuring(bool measuring);

  /// Share of all pairs of tokens that is allowed.
  [[nodiscard]] double density() const;
  [[nodiscard]] const PatternCostsModel& model() const { return model_; }
  /// That take pattern A; empty while that is not known.
  [[nodiscard]] QStringList implementations() const;
  /// Why they are not known; empty when they are.
  [[nodiscard]] QString implementations_problem() const;
  [[nodiscard]] QLabel* note() const { return note_; }
  [[nodiscard]] QTableView* table() const { return table_; }

 Q_SIGNALS:
  void changed();

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  struct Counted {
    Result<PatternCounts> a = PatternCounts{};
    std::optional<Result<PatternCounts>> b;
  };
  void build();
  void recount();
  void ask();
  void refresh();
  void fit();
  [[nodiscard]] bool may_be_asked() const;
  void take(Counted counted);

  QTableView* table_;
  ProblemLabel* problem_;
  QLabel* note_;
  PatternCostsModel model_;
  std::optional<TitledMask> a_, b_;
  LayoutItem item_;
  int heads_ = 0, head_dim_ = 0;
  std::optional<MachineCeilings> machine_;
  Counted counted_;
  bool is_measuring_ = false;
  ImplementationCosts a_implementations_, b_implementations_;
  charts::LatestJob counter_;
};

}  // namespace attnscope::gui
