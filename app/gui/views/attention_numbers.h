#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The right side of page Attention: where the mass goes, from group to group, to each token, and to
// which tokens most.

#include <QWidget>
#include <optional>

#include "app/gui/models/attended_tokens_model.h"
#include "app/gui/models/group_mass_model.h"
#include "app/gui/session/attention_session.h"
#include "engine/report/sheet.h"

class QComboBox;
class QLabel;
class QTableView;

namespace attnscope::gui {

class GroupMassBars;
class GroupMassTable;
class TokenProfile;

class AttentionNumbers : public QWidget {
  Q_OBJECT
 public:
  explicit AttentionNumbers(AttentionSession* session, QWidget* parent = nullptr);

  /// The token under a cursor elsewhere; -1: none.
  void set_marked(qint64 token);
  /// From group to group, of every side that is computed.
  [[nodiscard]] report::Sheet group_grid() const;
  /// What every token receives from the chosen rows, of the side that is shown.
  [[nodiscard]] report::Sheet token_grid() const;
  /// The one that a person is looking at: tokens where their list has the focus, else groups.
  [[nodiscard]] report::Sheet grid_in_front() const;

  [[nodiscard]] GroupMassModel& groups() { return groups_; }
  [[nodiscard]] AttendedTokensModel& tokens() { return tokens_; }
  [[nodiscard]] QComboBox* side_picker() const { return side_; }
  [[nodiscard]] QComboBox* rows_picker() const { return rows_; }
  [[nodiscard]] QTableView* token_table() const { return token_table_; }
  [[nodiscard]] QLabel* kept() const { return kept_; }

 Q_SIGNALS:
  void hovered(qint64 token);
  void copied(const QString& sentence);

 private:
  void build();
  void dump_opened();
  void head_changed();
  void received_changed();
  void rows_picked(int entry);
  void show_rows();
  void show_groups();
  void copy(const report::Sheet& grid, const QString& sentence);
  [[nodiscard]] QString rows_words() const;

  AttentionSession* session_;
  GroupMassModel groups_;
  AttendedTokensModel tokens_;
  QComboBox *side_, *rows_;
  GroupMassTable* table_;
  GroupMassBars* bars_;
  QLabel* kept_;
  TokenProfile* profile_;
  QTableView* token_table_;
};

}  // namespace attnscope::gui
