#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The patterns that ship, then those a person opened from files.

#include <QAbstractListModel>
#include <vector>

#include "engine/pattern/attention_pattern.h"

namespace attnscope::gui {

class PatternListModel : public QAbstractListModel {
  Q_OBJECT
 public:
  explicit PatternListModel(QObject* parent = nullptr);

  /// The row of the opened pattern; opening a file again reads it anew.
  [[nodiscard]] Result<int> open_file(const QString& file);
  [[nodiscard]] const AttentionPattern& pattern(int row) const;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;

 private:
  struct Entry {
    AttentionPattern pattern;
    QString file;  // empty: ships with the program
  };
  std::vector<Entry> entries_;
};

}  // namespace attnscope::gui
