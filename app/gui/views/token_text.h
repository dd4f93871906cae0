#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The tokens as running text, each on the colour of the mass it receives. Tokens are selected like
// text: click, Shift+click or drag; arrow keys move, Shift+arrows extend, Escape clears.

#include <QListView>
#include <optional>

#include "kernels/plan/attention_plan.h"

namespace attnscope::gui {

class AttendedTokensModel;

class TokenText : public QListView {
  Q_OBJECT
 public:
  explicit TokenText(QWidget* parent = nullptr);
  /// Must be called first.
  void show_tokens(AttendedTokensModel* tokens);

  void set_chosen(std::optional<TokenRange> tokens);
  void set_marked(qint64 token);  // -1: none; scrolls to it unless it is visible

  [[nodiscard]] std::optional<TokenRange> chosen() const;
  [[nodiscard]] qint64 marked() const { return marked_; }

 Q_SIGNALS:
  void hovered(qint64 token);
  void tokens_chosen(attnscope::TokenRange tokens);
  void choice_given_up();

 protected:
  void selectionChanged(const QItemSelection& selected, const QItemSelection& deselected) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  bool viewportEvent(QEvent* event) override;

 private:
  void select(int from, int to);

  qint64 marked_ = -1;
  bool is_reported_ = false;  // the selection is being set by set_chosen()
};

}  // namespace attnscope::gui
