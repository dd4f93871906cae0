#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The contenders of an answer in sentences. Up and Down walk along them and open what one must know
// beside each; Ctrl+C copies the one that is open.

#include <QListView>

#include "app/gui/models/advice_model.h"

namespace attnscope::gui {

class AnswerDelegate;

class AnswerList : public QListView {
  Q_OBJECT
 public:
  explicit AnswerList(QWidget* parent = nullptr);

  void set_contenders(const std::vector<std::string>& ids);
  /// Keeps the contender that is open.
  void show_advice(std::optional<report::Answer> advice);
  [[nodiscard]] const AdviceModel& advice_model() const { return model_; }

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 Q_SIGNALS:
  void copied();

 protected:
  void currentChanged(const QModelIndex& current, const QModelIndex& previous) override;

 private:
  void copy_current();

  AdviceModel model_;
  AnswerDelegate* delegate_;
};

}  // namespace attnscope::gui
