#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The contenders of an answer in reading order: place, the contender's line and marker, and its
// sentence (wrapped) with a bar in the colour of the verdict, which the sentence also states; then
// remarks on all of them. Up and Down move through the contenders and open the details of each;
// Ctrl+C copies the open one.

#include <QListView>
#include <optional>

#include "engine/report/advice.h"

namespace attnscope::gui {

class AnswerList : public QListView {
  Q_OBJECT
 public:
  explicit AnswerList(QWidget* parent = nullptr);

  /// Ids of all the run's contenders, which determine their styles.
  void set_contenders(const std::vector<std::string>& ids);
  /// Keeps the contender that is open. Nothing: no answer.
  void show_advice(std::optional<report::Advice> advice);

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 Q_SIGNALS:
  void copied();

 protected:
  void currentChanged(const QModelIndex& current, const QModelIndex& previous) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  class Rows;
  class Delegate;
  void copy_current();

  Rows* rows_;
  Delegate* delegate_;
};

}  // namespace attnscope::gui
