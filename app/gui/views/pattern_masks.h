#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The middle and the right side of page Patterns: the masks of patterns A and B, and their costs.

#include <QWidget>
#include <array>
#include <memory>
#include <optional>

#include "app/gui/charts/map_view.h"
#include "app/gui/models/pattern_counts.h"
#include "app/gui/models/pattern_editor.h"
#include "app/gui/models/rows_model.h"
#include "app/gui/session/latest_job.h"
#include "app/gui/session/worker_questions.h"

class QButtonGroup;
class QLabel;

namespace attnscope::gui {
namespace Ui {
class PatternCosts;
class PatternMasks;
}  // namespace Ui

/// A side and its title: "Sparse asymmetric, w = 4".
struct TitledMask {
  QString title;
  charts::MaskSource source;
};

/// The middle of page Patterns: the mask of pattern A, the edited one, in one of three styles; or
/// the masks of A and B side by side and their difference, with common zoom, pan and hover. B is
/// another pattern of the list, or A before its edits.
class PatternMasks : public QWidget {
  Q_OBJECT
 public:
  explicit PatternMasks(PatternEditor& editor, QWidget* parent = nullptr);
  ~PatternMasks() override;

  void set_style(charts::MaskStyle style);
  /// Shows A and B side by side, if there is a B.
  void set_split(bool split);
  [[nodiscard]] bool is_split() const { return split_ && b_.has_value(); }
  /// Selects pattern B, side by side with A; empty: none.
  void compare_with(const QString& title);
  [[nodiscard]] QString compared_with() const;

  [[nodiscard]] const TitledMask& a() const { return a_; }
  [[nodiscard]] const std::optional<TitledMask>& b() const { return b_; }
  /// The mask of A.
  [[nodiscard]] charts::MaskView* mask() const { return views_.front(); }

 Q_SIGNALS:
  /// The mask of A or B has changed, or B was removed.
  void changed();

 private:
  struct Partner {
    int id = 0;
    bool before = false;  // A before its edits
    friend bool operator==(const Partner&, const Partner&) = default;
  };

  void wire(charts::MaskView* view);
  void refresh();
  void show_masks();
  void arrange();
  void count();
  void set_counts(const std::optional<charts::DifferenceCounts>& counts, const QString& otherwise);
  void explain();
  void choose_partner(int choice);
  [[nodiscard]] std::vector<Partner> partners() const;
  [[nodiscard]] QString title_of(const Partner& partner) const;
  [[nodiscard]] TitledMask titled(const QString& title, const AttentionPattern& pattern) const;
  [[nodiscard]] charts::MaskView* difference() const { return views_.back(); }

  PatternEditor& editor_;
  QButtonGroup* styles_;
  std::unique_ptr<Ui::PatternMasks> ui_;
  std::array<charts::MaskView*, 3> views_{};  // A, B and their difference
  std::array<QLabel*, 3> captions_{};
  std::array<QLabel*, charts::difference_part_count> part_counts_{};
  std::optional<Partner> partner_;
  TitledMask a_;
  std::optional<TitledMask> b_;
  bool split_ = false;
  std::optional<std::pair<qint64, qint64>> hovered_;
  LatestJob counter_;
};

/// The rows, in separate columns or stacked in one.
class CostsModel : public RowsModel<CostRow> {
 public:
  void show_rows(const std::vector<CostRow>& rows, const QStringList& values, bool stacked);
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;

 private:
  std::vector<CostRow> rows_;
};

/// The right side of page Patterns: the cost of one forward call of pattern A, next to B, as a
/// table, and the run that measures it.
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
  void request_costs();
  void take(Counted counted);
  void refresh();
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
