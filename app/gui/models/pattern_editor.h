#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The patterns of the window: their list, and the state that page Patterns edits.

#include <QAbstractListModel>
#include <QObject>
#include <QUndoStack>
#include <functional>
#include <optional>
#include <vector>

#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/sequence_layout.h"

namespace attnscope::gui {

struct PatternEntry {
  int id = 0;                // constant when rows are added or removed
  AttentionPattern pattern;  // the edited pattern
  AttentionPattern before;   // the original: as shipped, or as in the file
  QString file;              // empty: none
  bool ships = false;        // shipped with the program: never edited itself
  [[nodiscard]] bool is_modified() const { return !ships && !(pattern == before); }
};

/// The shipped patterns, then the user's patterns: opened from files, or created by editing
/// another.
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

/// The state that page Patterns edits: the selected pattern, its window, and the item it is shown
/// on. Every edit can be undone. Shipped patterns are never edited: the first edit of one creates a
/// user pattern, "Sparse asymmetric (edited)", next to it.
///
///   PatternEditor editor;
///   editor.choose(1);
///   Status done = editor.set_rule(TokenGroup::query, TokenGroup::document,
///   {GroupRule::Kind::whole}); editor.undo_stack().undo();
class PatternEditor : public QObject {
  Q_OBJECT
 public:
  explicit PatternEditor(QObject* parent = nullptr);

  [[nodiscard]] PatternListModel& patterns() { return patterns_; }
  [[nodiscard]] const PatternListModel& patterns() const { return patterns_; }
  [[nodiscard]] QUndoStack& undo_stack() { return undo_; }

  void choose(int row);
  [[nodiscard]] int row() const { return patterns_.row_of(id_); }
  [[nodiscard]] const PatternEntry& entry() const { return patterns_.entry(row()); }
  [[nodiscard]] const AttentionPattern& pattern() const { return entry().pattern; }
  /// As selected, even while the pattern takes no window.
  [[nodiscard]] Window chosen_window() const { return state_.window; }
  /// The window of this pattern; none if it takes no window.
  [[nodiscard]] std::optional<Window> window() const { return window_of(pattern()); }
  [[nodiscard]] std::optional<Window> window_of(const AttentionPattern& pattern) const;
  [[nodiscard]] const LayoutItem& item() const { return state_.item; }

  enum class Sentences { none, every, listed };
  [[nodiscard]] Sentences sentences() const;

  // Edits. An error is one sentence and leaves everything unchanged. Consecutive edits of one kind
  // form one step until end_gesture(): a slider's whole movement is undone at once.
  Status set_rule(TokenGroup from, TokenGroup to, const GroupRule& rule);
  Status set_blocks(const std::optional<BlockRule>& blocks);
  Status set_name(const std::string& name);
  Status set_title(const std::string& title);
  Status set_description(const std::string& description);
  void set_window(Window window);
  void set_query(std::int64_t tokens);
  void set_documents(const std::vector<std::int64_t>& tokens);
  void set_sentences_every(std::int64_t tokens);
  void set_sentences(const std::vector<std::int64_t>& starts);
  void end_gesture() { ++gesture_; }

  // Files; these calls are not edits and cannot be undone.
  Status open_file(const QString& file);
  Status save(const QString& file);

 Q_SIGNALS:
  /// The pattern, its window or the item has changed, or another pattern is selected.
  void changed();

 private:
  friend class PatternEdit;
  enum class Kind { rule, blocks, name, title, description, window, query, documents, sentences };

  /// The state before or after an undo step.
  struct State {
    AttentionPattern pattern;
    Window window = Window::of(4);  // the paper's
    LayoutItem item{.cls = 1, .query = 11, .documents = {162}};
    friend bool operator==(const State&, const State&) = default;
  };

  void edit(Kind kind, const QString& words, const std::function<void(State&)>& change);
  /// Refuses a pattern that cannot be computed.
  Status edit_pattern(Kind kind, const QString& words,
                      const std::function<void(AttentionPattern&)>& change);
  void go_to(int id, const State& state);
  [[nodiscard]] State now() const;
  /// A user pattern that starts as a copy of this one.
  [[nodiscard]] PatternEntry copy_of(const PatternEntry& origin);

  PatternListModel patterns_;
  QUndoStack undo_;
  int id_ = 0;
  State state_;  // without the pattern, which is stored in the list
  int gesture_ = 0;
};

}  // namespace attnscope::gui
