#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The left of page Patterns: the list of patterns, everything of the chosen one that can be edited,
// the item that it is shown on, and the heads that its costs are counted for.

#include <QWidget>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "app/gui/models/pattern_editor.h"

class QLineEdit;
class QMenu;
class QSpinBox;

namespace attnscope::gui {

class ProblemLabel;
namespace Ui {
class PatternPanel;
}

class PatternPanel : public QWidget {
  Q_OBJECT
 public:
  static constexpr int most_tokens = 1'000'000;  // that a mask shows

  explicit PatternPanel(PatternEditor& editor, QWidget* parent = nullptr);
  ~PatternPanel() override;

  [[nodiscard]] int heads() const;
  [[nodiscard]] int head_dim() const;
  /// Beside the list; empty: the last file could be opened.
  void show_problem(const QString& sentence);

 Q_SIGNALS:
  void open_asked();
  void save_asked();
  void save_as_asked();
  void file_asked(const QString& file);
  /// Heads or their dimension, which are no part of an item and no step that is undone.
  void heads_changed();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void wrap_rows();
  void build_list();
  QAction* undo_action(const QString& name, const QKeySequence& keys, bool undo);
  void fill_recent(QMenu* menu);
  void bind_window();
  void bind_lengths();
  void bind_sentences();
  void bind_blocks();
  void bind_words();
  /// `value`: what the editor has; nothing: the field keeps what it shows.
  void bind(QSpinBox* box, int most, const std::function<void(int)>& enter,
            std::function<std::optional<std::int64_t>()> value);
  /// `enter`: an error is said by `problem`, and the text stays as it was typed. `wrong`: what is
  /// wrong with the value that the editor has; empty: nothing.
  void bind(QLineEdit* edit, const std::function<QString()>& value,
            const std::function<Status(const QString&)>& enter, ProblemLabel* problem = nullptr,
            const std::function<QString()>& wrong = {});
  void refresh();
  void refresh_window();
  void set_alike_documents();
  [[nodiscard]] bool documents_are_alike() const;
  [[nodiscard]] QString wrong_documents() const;
  [[nodiscard]] QString wrong_starts() const;
  void sentences_chosen();
  void set_blocks();
  /// Where a stride would put them, as a list to begin with.
  [[nodiscard]] std::vector<std::int64_t> starts_by_stride() const;

  PatternEditor& editor_;
  std::vector<std::function<void()>> shown_;  // each shows its field's part of the editor
  std::unique_ptr<Ui::PatternPanel> ui_;
};

}  // namespace attnscope::gui
