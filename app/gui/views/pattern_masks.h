#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The middle of page Patterns: the mask of pattern A, the edited one, in one of three styles; or
// the masks of A and B side by side and their difference, with common zoom, pan and hover. B is
// another pattern of the list, or A before its edits.

#include <QWidget>
#include <array>
#include <memory>
#include <optional>

#include "app/gui/charts/mask_view.h"
#include "app/gui/models/pattern_editor.h"
#include "app/gui/session/latest_job.h"

class QButtonGroup;
class QLabel;

namespace attnscope::gui {
namespace Ui {
class PatternMasks;
}

/// A side and its title: "Sparse asymmetric, w = 4".
struct TitledMask {
  QString title;
  charts::MaskSource source;
};

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

  void build_choices();
  void build_grid();
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

}  // namespace attnscope::gui
