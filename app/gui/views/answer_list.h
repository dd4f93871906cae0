#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The contenders of an answer as one should read them: place, the contender's line and marker, its
// sentence over as many lines as it takes, with a bar in the verdict's colour, which the sentence
// says in words; then what one must know of all of them. Up and Down walk along them and open what
// one must know beside each; Ctrl+C copies the one that is open.

#include <QListView>
#include <optional>

#include "engine/report/answer.h"

namespace attnscope::gui {

class AnswerList : public QListView {
  Q_OBJECT
 public:
  explicit AnswerList(QWidget* parent = nullptr);

  /// Ids of all the run's contenders, which decide how each is drawn.
  void set_contenders(const std::vector<std::string>& ids);
  /// Keeps the contender that is open. Nothing: no answer.
  void show_advice(std::optional<report::Answer> advice);

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
