#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The contenders of a new run: a line for each of its patterns, a chip for each implementation that
// can measure it. What cannot be measured here is counted in one line, which says why.

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

  /// The implementations this machine has; `problem` says why they are not known.
  void set_implementations(const QList<ListedImplementation>& implementations,
                           const QString& problem);
  /// Models in the patterns' places; each once more with the shortcut of the last layer.
  void show_models(bool of_models);
  /// Their patterns have lines; other lines go.
  void set_checked(const std::vector<PatternAndImplementation>& pairs);
  /// A line with no contender yet.
  void add_line(const QString& pattern);
  /// Those that cannot be measured, with the reasons. Checked ones stay so until they are
  /// unchecked.
  void set_impossible(std::map<PatternAndImplementation, QString> reasons);
  /// Of the checks.
  void set_problem(const QString& sentence);
  /// One is checked that this program cannot have; empty: none.
  [[nodiscard]] QString problem() const;
  /// In the order in which they were first checked.
  [[nodiscard]] const std::vector<PatternAndImplementation>& checked() const { return checked_; }

 Q_SIGNALS:
  /// By a person.
  void edited();

 private:
  struct Named {
    QString name, tip;
  };
  [[nodiscard]] std::vector<Named> patterns() const;
  void fill();
  QWidget* make_line(const QString& pattern);
  void fill_menu(const std::vector<Named>& patterns);
  void turn(const PatternAndImplementation& pair, bool on);
  [[nodiscard]] QString reason_against(const PatternAndImplementation& pair) const;
  void say_impossible();

  QList<ListedImplementation> listed_, implementations_;  // of the program; and checked ones
  bool of_models_ = false;
  QStringList shown_;  // patterns
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
