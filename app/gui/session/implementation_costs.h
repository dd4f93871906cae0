#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What each implementation would execute for a pattern, by its own account: asked from `attnscope
// costs --json`, which asks the worker. Asked a moment after the last change, not at every step of
// a slider; an answer that is no longer wanted is dropped.

#include <QList>
#include <QObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QTimer>
#include <optional>

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
  friend bool operator==(const CostQuestion&, const CostQuestion&) = default;
};

class ImplementationCosts : public QObject {
  Q_OBJECT
 public:
  explicit ImplementationCosts(QObject* parent = nullptr);
  ~ImplementationCosts() override;

  void ask(const CostQuestion& question);
  /// Nothing is wanted any more.
  void forget();
  /// Of the last question; empty while it is asked, and when nobody answered.
  [[nodiscard]] const QList<ForeseenCost>& costs() const { return costs_; }
  [[nodiscard]] const QString& problem() const { return problem_; }
  [[nodiscard]] bool is_asking() const { return is_asking_; }

 Q_SIGNALS:
  void changed();

 private:
  void start();
  void stop();
  void read(int exit_code);
  void finish(const QString& problem);

  QTimer pause_;
  QProcess process_;
  QTemporaryDir folder_;
  CostQuestion question_;
  std::optional<CostQuestion> answered_;
  QList<ForeseenCost> costs_;
  QString problem_;
  bool is_asking_ = false;
};

/// What the command prints. Empty when it is none of it.
[[nodiscard]] QList<ForeseenCost> read_costs(const QByteArray& json);

}  // namespace attnscope::gui
