#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The contenders of a new run, to be checked one by one, and a sentence about the one under the
// pointer or the keyboard: what it is, or why it cannot be measured.

#include <QWidget>

#include "app/gui/models/contender_matrix_model.h"

class QLabel;
class QTableView;

namespace attnscope::gui {

class ProblemLabel;

class ContenderMatrix : public QWidget {
  Q_OBJECT
 public:
  explicit ContenderMatrix(QWidget* parent = nullptr);

  [[nodiscard]] ContenderMatrixModel& model() { return model_; }
  [[nodiscard]] const ContenderMatrixModel& model() const { return model_; }
  [[nodiscard]] QTableView* table() const { return table_; }

  /// The implementations this machine has; `problem` says why they are not known.
  void set_implementations(const QList<ContenderMatrixModel::Named>& implementations,
                           const QString& problem);
  /// Models in the patterns' places; each once more with the shortcut of the last layer.
  void show_models(bool of_models);
  /// Of the checks.
  void set_problem(const QString& sentence);

 private:
  void say(const QModelIndex& cell);
  /// In what scrolls around the whole table.
  void bring_into_sight(const QModelIndex& cell);
  void count_impossible();

  ContenderMatrixModel model_;
  QList<ContenderMatrixModel::Named> implementations_;
  bool of_models_ = false;
  QTableView* table_;
  QLabel* note_;
  ProblemLabel *problem_, *implementations_problem_, *impossible_;
};

}  // namespace attnscope::gui
