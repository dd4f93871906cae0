#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The shipped patterns, then the user's patterns: opened from files, or created by editing another.

#include <QAbstractListModel>
#include <vector>

#include "engine/pattern/attention_pattern.h"

namespace attnscope::gui {

struct PatternEntry {
  int id = 0;                // constant when rows are added or removed
  AttentionPattern pattern;  // the edited pattern
  AttentionPattern before;   // the original: as shipped, or as in the file
  QString file;              // empty: none
  bool ships = false;        // shipped with the program: never edited itself
  [[nodiscard]] bool is_modified() const { return !ships && !(pattern == before); }
};

class PatternListModel : public QAbstractListModel {
  Q_OBJECT
 public:
  explicit PatternListModel(QObject* parent = nullptr);

  /// Returns the row of the opened pattern; opening a file again reloads it. A checkpoint's
  /// config.json gives a pattern for each kind of layer; the row is that of the first.
  [[nodiscard]] Result<int> open_file(const QString& file);
  /// Writes the pattern of that row, which then belongs to that file.
  [[nodiscard]] Status save(int row, const QString& file);

  [[nodiscard]] const PatternEntry& entry(int row) const;
  [[nodiscard]] const AttentionPattern& pattern(int row) const { return entry(row).pattern; }
  /// -1: not found.
  [[nodiscard]] int row_of(int id) const;
  [[nodiscard]] int row_of_file(const QString& file) const;
  /// "Sparse asymmetric (edited)"; the name if there is no title.
  [[nodiscard]] QString title(int row) const;
  [[nodiscard]] bool has_name(const std::string& name) const { return row_of_name(name) >= 0; }
  /// Rows of files that were opened or saved and have unsaved changes.
  [[nodiscard]] QList<int> modified_rows() const;

  /// For PatternEditor, which makes every edit undoable.
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
