#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The left side of page Attention: where the weights come from, under which patterns, and the heads
// to choose from.

#include <QWidget>
#include <optional>

#include "app/gui/models/pattern_list_model.h"
#include "app/gui/session/attention_session.h"

class QAction;
class QComboBox;
class QLabel;
class QToolButton;

namespace attnscope::gui {

class HeadGrid;
class WindowBox;

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

 Q_SIGNALS:
  void changed();
  void file_failed(const QString& sentence);

 private:
  void fill();
  void entry_chosen();
  void ask_for_pattern();

  PatternListModel* patterns_;
  QComboBox* box_;
  WindowBox* window_;
  int last_ = 0;  // the entry to return to when no file was opened
};

class AttentionSource : public QWidget {
  Q_OBJECT
 public:
  /// `checkpoint`: the page's action that opens one.
  AttentionSource(AttentionSession* session, QAction* checkpoint, QWidget* parent = nullptr);

  void ask_for_dump();
  [[nodiscard]] PatternPicker* first() const { return first_; }
  [[nodiscard]] PatternPicker* second() const { return second_; }
  [[nodiscard]] HeadGrid* heads() const { return heads_; }

 Q_SIGNALS:
  void failed(const QString& sentence);

 private:
  void describe();
  void fill_menu();

  AttentionSession* session_;
  PatternListModel patterns_;
  QLabel *model_, *note_;
  QToolButton* open_;
  PatternPicker *first_, *second_;
  HeadGrid* heads_;
};

}  // namespace attnscope::gui
