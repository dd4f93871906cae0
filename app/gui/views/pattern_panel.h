#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The left side of page Patterns: the list of patterns, the editable properties of the selected
// one, the item that it is shown on, and the heads used for its costs.

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
  static constexpr int most_tokens = 1'000'000;  // for a mask

  explicit PatternPanel(PatternEditor& editor, QWidget* parent = nullptr);
  ~PatternPanel() override;

  [[nodiscard]] int heads() const;
  [[nodiscard]] int head_dim() const;
  /// Shown next to the list; empty: the last file could be opened.
  void show_problem(const QString& sentence);

 Q_SIGNALS:
  void open_requested();
  void save_requested();
  void save_as_requested();
  void file_requested(const QString& file);
  /// The number of heads or their dimension; not part of an item, and not undoable.
  void heads_changed();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void wrap_rows();
  QAction* undo_action(const QString& name, const QKeySequence& keys, bool undo);
  void fill_recent(QMenu* menu);
  void bind_lengths();
  void bind_sentences();
  void bind_blocks();
  void bind_texts();
  /// `value`: the editor's value; nothing: the field keeps its value.
  void bind(QSpinBox* box, int most, const std::function<void(int)>& enter,
            std::function<std::optional<std::int64_t>()> value);
  /// `enter`: on an error, `problem` shows it and the text stays as typed. `wrong`: the error of
  /// the editor's current value; empty: none.
  void bind(QLineEdit* edit, const std::function<QString()>& value,
            const std::function<Status(const QString&)>& enter, ProblemLabel* problem = nullptr,
            const std::function<QString()>& wrong = {});
  void refresh();
  void set_equal_documents();
  [[nodiscard]] bool documents_are_equal() const;
  [[nodiscard]] QString wrong_documents() const;
  [[nodiscard]] QString wrong_starts() const;
  void sentences_chosen();
  void set_blocks();
  /// The starts that the stride gives, as an initial list.
  [[nodiscard]] std::vector<std::int64_t> starts_by_stride() const;

  PatternEditor& editor_;
  std::vector<std::function<void()>> shown_;  // each updates its field from the editor
  std::unique_ptr<Ui::PatternPanel> ui_;
};

}  // namespace attnscope::gui
