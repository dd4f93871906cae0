#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What one forward call of a pattern costs at least: pairs, density, FLOPs, bytes, from its plan.

#include <QWidget>
#include <optional>

#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/sequence_layout.h"
#include "kernels/plan/counts.h"

class QLabel;
class QSpinBox;

namespace attnscope::gui {

class PatternCosts : public QWidget {
  Q_OBJECT
 public:
  explicit PatternCosts(QWidget* parent = nullptr);

  void show_costs(const AttentionPattern& pattern, std::optional<Window> window,
                  const LayoutItem& item);
  /// Share of all pairs of tokens that is allowed.
  [[nodiscard]] double density() const { return density_; }

 private:
  void recount();

  AttentionPattern pattern_;
  std::optional<Window> window_;
  LayoutItem item_;
  double density_ = 0;
  QSpinBox* heads_;
  QSpinBox* head_dim_;
  QLabel *tokens_, *pairs_, *density_value_, *flop_, *full_flop_, *bytes_, *exponentials_;
  QLabel* problem_;
};

/// "1.23 M", "640": a count in few digits.
[[nodiscard]] QString count_words(double count);

}  // namespace attnscope::gui
