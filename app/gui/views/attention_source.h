#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The left side of page Attention: where the weights come from, under which patterns, and the heads
// to choose from.

#include <QStringList>
#include <QWidget>
#include <optional>

#include "app/gui/models/head_grid_model.h"
#include "app/gui/models/pattern_list_model.h"
#include "app/gui/session/attention_session.h"

class QComboBox;
class QLabel;
class QMenu;
class QSpinBox;
class QToolButton;

namespace attnscope::gui {

class HeadGridView;

/// A pattern and, where it has one, its window. The first entry stands for no choice.
class PatternPicker : public QWidget {
  Q_OBJECT
 public:
  PatternPicker(PatternListModel* patterns, const QString& no_choice, const QString& name,
                QWidget* parent = nullptr);
  [[nodiscard]] std::optional<PatternChoice> choice() const;
  /// By title; unknown and empty: the first entry.
  void choose(const QString& title);
  void set_no_choice_words(const QString& words);
  [[nodiscard]] QString title() const;  // empty: no choice
  /// Pattern, file and window, for restore() in another picker.
  [[nodiscard]] QVariantMap chosen() const;
  void restore(const QVariantMap& chosen);
  [[nodiscard]] QComboBox* box() const { return box_; }
  [[nodiscard]] QSpinBox* window() const { return window_; }

 Q_SIGNALS:
  void changed();
  void file_failed(const QString& sentence);

 private:
  void fill();
  void entry_chosen();
  void ask_for_pattern();

  PatternListModel* patterns_;
  QComboBox* box_;
  QSpinBox* window_;
  int last_ = 0;  // the entry to return to when no file was opened
};

class AttentionSource : public QWidget {
  Q_OBJECT
 public:
  explicit AttentionSource(AttentionSession* session, QWidget* parent = nullptr);

  void ask_for_dump();
  [[nodiscard]] PatternPicker* first() const { return first_; }
  [[nodiscard]] PatternPicker* second() const { return second_; }
  [[nodiscard]] HeadGridView* heads() const { return grid_; }
  [[nodiscard]] HeadGridModel& head_model() { return heads_; }
  [[nodiscard]] QToolButton* open_button() const { return open_; }
  [[nodiscard]] QToolButton* checkpoint_button() const { return checkpoint_; }

 Q_SIGNALS:
  void failed(const QString& sentence);

 private:
  void describe();
  void fill_menu();
  void patterns_changed();

  AttentionSession* session_;
  PatternListModel patterns_;
  HeadGridModel heads_;
  QLabel *model_, *note_;
  QToolButton *open_, *checkpoint_;
  PatternPicker *first_, *second_;
  HeadGridView* grid_;
};

/// Dumps opened lately, newest first; kept in the settings.
[[nodiscard]] QStringList recent_dumps();
void remember_dump(const QString& file);

}  // namespace attnscope::gui
