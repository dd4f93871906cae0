#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The left of page Patterns: the list of patterns, and everything of the chosen one that can be
// edited.

#include <QWidget>

#include "app/gui/models/pattern_editor.h"
#include "app/gui/models/pattern_matrix_model.h"

class QListView;
class QMenu;
class QSlider;
class QToolButton;

namespace attnscope::gui {

class PatternItemBox;
class PatternMatrix;
class ProblemLabel;
class WindowBox;

class PatternPanel : public QWidget {
  Q_OBJECT
 public:
  explicit PatternPanel(PatternEditor& editor, QWidget* parent = nullptr);

  [[nodiscard]] QListView* list() const { return list_; }
  [[nodiscard]] PatternMatrix* matrix() const { return matrix_; }
  [[nodiscard]] QSlider* window_slider() const { return window_slider_; }
  [[nodiscard]] WindowBox* window_box() const { return window_box_; }
  [[nodiscard]] PatternItemBox* item_box() const { return item_box_; }
  /// Beside the list; empty: the last file could be opened.
  void show_problem(const QString& sentence);
  [[nodiscard]] ProblemLabel* problem() const { return list_problem_; }

 Q_SIGNALS:
  void open_asked();
  void save_asked();
  void save_as_asked();
  void file_asked(const QString& file);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QWidget* build_list();
  QWidget* build_edits();
  QWidget* build_window();
  QToolButton* add_undo(const QString& name, const QKeySequence& keys, bool undo);
  void fill_recent(QMenu* menu);
  void refresh();
  void refresh_window();

  PatternEditor& editor_;
  PatternMatrixModel matrix_model_;
  QListView* list_;
  ProblemLabel* list_problem_;
  QToolButton* save_;
  PatternMatrix* matrix_;
  ProblemLabel* matrix_problem_;
  QSlider* window_slider_;
  WindowBox* window_box_;
  PatternItemBox* item_box_;
};

/// The windows the slider stops at: fine where windows are small, then doubling, then all.
[[nodiscard]] const std::vector<Window>& slider_windows();

}  // namespace attnscope::gui
