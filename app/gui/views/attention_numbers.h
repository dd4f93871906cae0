#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The right side of page Attention: the mass that each token receives from the selected rows - as a
// list, as text, along the sequence - and the flow of mass between groups.

#include <QSortFilterProxyModel>
#include <QWidget>
#include <memory>

#include "app/gui/session/attention_session.h"
#include "app/gui/views/token_text.h"
#include "engine/report/sheet.h"

class QTableView;

namespace attnscope::gui {
namespace Ui {
class AttentionNumbers;
}

/// "A", "B", "B − A".
[[nodiscard]] QString side_name(AttentionSide side);

class AttentionNumbers : public QWidget {
  Q_OBJECT
 public:
  explicit AttentionNumbers(AttentionSession* session, QWidget* parent = nullptr);
  ~AttentionNumbers() override;

  /// The token under the cursor in another view; -1: none.
  void set_marked(qint64 token);
  void set_logarithmic(bool logarithmic);
  /// The only group whose tokens are listed and determine the colour scale; nothing: all.
  [[nodiscard]] std::optional<TokenGroup> attended_group() const;
  /// Mass from group to group, for every computed side.
  [[nodiscard]] report::Sheet group_grid() const;
  /// The table that is visible.
  [[nodiscard]] report::Sheet grid_in_front() const;

  /// The model of the list, as shown.
  [[nodiscard]] const AttendedTokensModel& tokens() const { return tokens_; }

 Q_SIGNALS:
  void hovered(qint64 token);
  void copied(const QString& sentence);
  /// Tokens of another group determine the scale.
  void attended_changed();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void build();
  void wire();
  void let_copy(QTableView* table, const QString& what,
                report::Sheet (AttentionNumbers::*grid)() const);
  void dump_opened();
  void head_changed();
  void received_changed();
  void fit_columns();
  void show_groups();
  void show_rows();
  /// The mass that each listed token receives from the selected rows, of the shown side.
  [[nodiscard]] report::Sheet token_grid() const;
  [[nodiscard]] QString rows_text() const;

  AttentionSession* session_;
  std::vector<TokenGroup> groups_;  // groups that have tokens
  AttendedTokensModel tokens_;
  QSortFilterProxyModel most_attended_;
  bool logarithmic_ = false;
  std::unique_ptr<Ui::AttentionNumbers> ui_;
};

}  // namespace attnscope::gui
