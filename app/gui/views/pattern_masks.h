#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The middle of page Patterns: the mask of pattern A in one of three styles or, side by side, the
// masks of A and B with their difference, which zoom, pan and are asked together.

#include <QWidget>
#include <optional>

#include "app/gui/charts/latest_job.h"
#include "app/gui/charts/mask_view.h"

class QAction;
class QButtonGroup;
class QComboBox;
class QGridLayout;
class QLabel;

namespace attnscope::gui {

class ChoiceButton;
class DifferenceLegend;

/// One side as it is shown: "Sparse asymmetric, w = 4".
struct TitledMask {
  QString title;
  charts::MaskSource source;
};

class PatternMasks : public QWidget {
  Q_OBJECT
 public:
  explicit PatternMasks(QWidget* parent = nullptr);

  void show_masks(const TitledMask& a, const std::optional<TitledMask>& b, const LayoutItem& item);
  void set_style(charts::MaskStyle style);
  [[nodiscard]] charts::MaskStyle style() const { return a_->style(); }
  /// Side by side, where there is a B.
  void set_split(bool split);
  [[nodiscard]] bool is_split() const { return split_ && b_mask_.has_value(); }

  /// What B may be, the first being none; and which is chosen.
  void set_choices(const QStringList& titles, int chosen);
  [[nodiscard]] QComboBox* partner_picker() const { return partner_; }

  [[nodiscard]] charts::MaskView* mask() const { return a_; }
  [[nodiscard]] charts::MaskView* partner_mask() const { return b_; }
  [[nodiscard]] charts::MaskView* difference() const { return difference_; }
  [[nodiscard]] DifferenceLegend* legend() const { return legend_; }
  [[nodiscard]] QLabel* explanation() const { return explanation_; }

 Q_SIGNALS:
  void partner_chosen(int choice);

 private:
  QWidget* build_heading();
  QWidget* build_choices();
  void build_grid(QWidget* box);
  void wire(charts::MaskView* view);
  void arrange();
  void refresh();
  void count();
  void explain();

  QLabel *title_, *explanation_;
  QButtonGroup* styles_;
  QComboBox* partner_;
  ChoiceButton* split_button_;
  QAction* split_action_;
  charts::MaskView *a_, *b_, *difference_;
  QLabel *a_caption_, *b_caption_, *difference_caption_;
  DifferenceLegend* legend_;
  QGridLayout* grid_ = nullptr;
  TitledMask a_mask_;
  std::optional<TitledMask> b_mask_;
  LayoutItem item_;
  bool split_ = false;
  std::optional<std::pair<qint64, qint64>> hovered_;
  charts::LatestJob counter_;
};

}  // namespace attnscope::gui
