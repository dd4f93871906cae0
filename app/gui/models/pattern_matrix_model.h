#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The chosen pattern's table as rows (who attends) and columns (who is attended to). Editing it
// goes through PatternEditor, so that it can be undone.

#include <QAbstractTableModel>

#include "app/gui/models/pattern_editor.h"

namespace attnscope::gui {

class PatternMatrixModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Role {
    kind_role = Qt::UserRole,  // GroupRule::Kind as int; also to set
    next_kind_role,            // the kind after it: none, whole, window (where it has a meaning)
  };
  /// What Qt::EditRole takes for the window that the slider sets.
  static constexpr int slider_window = -1;

  explicit PatternMatrixModel(PatternEditor& editor, QObject* parent = nullptr);

  [[nodiscard]] static TokenGroup group_at(int section) {
    return token_groups.at(static_cast<std::size_t>(section));
  }
  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;
  [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;
  /// kind_role: the kind. EditRole: a window of the rule's own in tokens, or slider_window.
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;

 Q_SIGNALS:
  /// Why an edit is not possible; empty: it was.
  void refused(const QString& sentence);

 private:
  [[nodiscard]] const GroupRule& rule_at(const QModelIndex& index) const;
  [[nodiscard]] QString words_for(const QModelIndex& index) const;

  PatternEditor& editor_;
};

}  // namespace attnscope::gui
