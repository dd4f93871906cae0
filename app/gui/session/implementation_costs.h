#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What each implementation would execute for a pattern, by its own account: asked from `attnscope
// costs --json`, which asks the worker.

#include <QList>
#include <optional>

#include "app/gui/session/program_question.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/sequence_layout.h"

namespace attnscope::gui {

struct ForeseenCost {
  QString id;
  QString reason;  // why it does not take this; empty: it does
  double executed_flop = 0;
  double executed_bytes = 0;
  double peak_bytes = 0;
};

struct CostQuestion {
  AttentionPattern pattern;
  std::optional<Window> window;
  LayoutItem item;
  int heads = 12, head_dim = 32;
};

class ImplementationCosts : public ProgramQuestion {
 public:
  explicit ImplementationCosts(QObject* parent = nullptr);

  void ask(const CostQuestion& question);
  /// Of the last question; empty while it is asked, and when nobody answered.
  [[nodiscard]] const QList<ForeseenCost>& costs() const { return costs_; }

 private:
  bool read(const QByteArray& printed) override;
  void drop_answer() override { costs_.clear(); }

  QList<ForeseenCost> costs_;
};

}  // namespace attnscope::gui
