#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The contenders of a new run: a line per pattern, with a chip for each implementation that can
// measure it. A line of text counts those that cannot be measured here and gives the reasons.

#include <QWidget>
#include <map>
#include <vector>

#include "app/gui/session/sweep_draft.h"
#include "app/gui/session/worker_questions.h"

class QLabel;
class QPushButton;
class QToolButton;
class QVBoxLayout;

namespace attnscope::gui {

class ProblemLabel;

class ContenderChips : public QWidget {
  Q_OBJECT
 public:
  explicit ContenderChips(QWidget* parent = nullptr);

  /// The implementations on this machine; `problem`: why they are not known.
  void set_implementations(const QList<ListedImplementation>& implementations,
                           const QString& problem);
  /// Shows models in place of patterns, each also with the shortcut of the last layer.
  void show_models(bool of_models);
  /// Keeps the lines of these patterns and removes the others.
  void set_checked(const std::vector<PatternAndImplementation>& pairs);
  /// Adds a line without contenders.
  void add_line(const QString& pattern);
  /// The pairs that cannot be measured, with the reasons. Checked pairs stay checked until the user
  /// unchecks them.
  void set_impossible(std::map<PatternAndImplementation, QString> reasons);
  /// Problem of the checked contenders.
  void set_problem(const QString& sentence);
  /// Names a checked contender that this program does not have; empty: none.
  [[nodiscard]] QString problem() const;
  /// In the order in which they were first checked.
  [[nodiscard]] const std::vector<PatternAndImplementation>& checked() const { return checked_; }

 Q_SIGNALS:
  /// Emitted for user changes only.
  void edited();

 private:
  struct Named {
    QString name, tip;
  };
  [[nodiscard]] std::vector<Named> patterns() const;
  void fill();
  QWidget* make_line(const QString& pattern);
  void fill_menu(const std::vector<Named>& patterns);
  void toggle_pair(const PatternAndImplementation& pair, bool on);
  [[nodiscard]] QString reason_of(const PatternAndImplementation& pair) const;
  void show_impossible();

  QList<ListedImplementation> listed_, implementations_;  // of the program; including checked ones
  bool of_models_ = false;
  QStringList shown_;  // patterns with a line
  std::vector<PatternAndImplementation> checked_;
  std::map<PatternAndImplementation, QString> impossible_;
  QVBoxLayout* layout_;
  QWidget* lines_ = nullptr;
  QPushButton* add_;
  QToolButton* more_;
  QLabel* reasons_;
  ProblemLabel *problem_, *kept_, *unknown_;
};

}  // namespace attnscope::gui
