#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The right side of page Attention: what each token receives from the chosen rows - as a list, as
// text, along the sequence - and where the mass goes from group to group.

#include <QSortFilterProxyModel>
#include <QWidget>
#include <memory>

#include "app/gui/models/attended_tokens_model.h"
#include "app/gui/session/attention_session.h"
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

  /// The token under a cursor elsewhere; -1: none.
  void set_marked(qint64 token);
  void set_logarithmic(bool logarithmic);
  /// The group whose tokens alone are listed and set the colours' scale; nothing: all.
  [[nodiscard]] std::optional<TokenGroup> attended_group() const;
  /// From group to group, of every side that is computed.
  [[nodiscard]] report::Sheet group_grid() const;
  /// The one that a person is looking at.
  [[nodiscard]] report::Sheet grid_in_front() const;

  /// The list's, as it is shown.
  [[nodiscard]] const AttendedTokensModel& tokens() const { return tokens_; }

 Q_SIGNALS:
  void hovered(qint64 token);
  void copied(const QString& sentence);
  /// Tokens of another group set the scale.
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
  void rows_picked(int entry);
  void show_rows();
  /// What every listed token receives from the chosen rows, of the side that is shown.
  [[nodiscard]] report::Sheet token_grid() const;
  [[nodiscard]] QString rows_words() const;

  AttentionSession* session_;
  std::vector<TokenGroup> groups_;  // that have tokens
  AttendedTokensModel tokens_;
  QSortFilterProxyModel most_attended_;
  bool logarithmic_ = false;
  std::unique_ptr<Ui::AttentionNumbers> ui_;
};

}  // namespace attnscope::gui
