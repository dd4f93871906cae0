#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The patterns that ship, then those of a person: opened from files, or made by editing another.

#include <QAbstractListModel>
#include <vector>

#include "engine/pattern/attention_pattern.h"

namespace attnscope::gui {

struct PatternEntry {
  int id = 0;                // stays when rows come and go
  AttentionPattern pattern;  // as it is edited
  AttentionPattern before;   // as it was before: as it ships, or as its file has it
  QString file;              // empty: none
  bool ships = false;        // with the program: never edited itself
  [[nodiscard]] bool is_modified() const { return !ships && !(pattern == before); }
};

class PatternListModel : public QAbstractListModel {
  Q_OBJECT
 public:
  explicit PatternListModel(QObject* parent = nullptr);

  /// The row of the opened pattern; opening a file again reads it anew. A checkpoint's config.json
  /// has a pattern for each kind of its layers, the first of which is the row.
  [[nodiscard]] Result<int> open_file(const QString& file);
  /// Writes the pattern of that row; it is then the one of that file.
  [[nodiscard]] Status save(int row, const QString& file);

  [[nodiscard]] const PatternEntry& entry(int row) const;
  [[nodiscard]] const AttentionPattern& pattern(int row) const { return entry(row).pattern; }
  /// -1: not there.
  [[nodiscard]] int row_of(int id) const;
  [[nodiscard]] int row_of_file(const QString& file) const;
  /// "Sparse asymmetric (edited)", or its name where it has no title.
  [[nodiscard]] QString title(int row) const;
  [[nodiscard]] bool has_name(const std::string& name) const { return row_of_name(name) >= 0; }
  /// Files that were opened or saved and whose changes are not saved.
  [[nodiscard]] QList<int> modified_rows() const;

  /// For PatternEditor, which makes every edit one that can be undone.
  int next_id() { return ++last_id_; }
  void add(PatternEntry entry);
  void remove(int id);
  void set_pattern(int id, const AttentionPattern& pattern);

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;

 private:
  [[nodiscard]] Result<int> open_layers(const QString& file, const std::string& config);
  [[nodiscard]] int row_of_name(const std::string& name) const;

  std::vector<PatternEntry> entries_;
  int last_id_ = 0;
};

}  // namespace attnscope::gui
