#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The left side of page Attention: the source of the weights, the patterns, and the heads to select
// from.

#include <QWidget>
#include <memory>
#include <optional>

#include "app/gui/models/pattern_list_model.h"
#include "app/gui/session/attention_session.h"

class QAction;
class QComboBox;

namespace attnscope::gui {

class HeadGrid;
class WindowBox;
namespace Ui {
class AttentionSource;
}

/// Selects a pattern and, if it takes one, its window. The first entry means no choice.
class PatternPicker : public QWidget {
  Q_OBJECT
 public:
  explicit PatternPicker(QWidget* parent);
  /// Must be called first; `no_choice` is the text of the first entry.
  void offer(PatternListModel* patterns, const QString& no_choice);
  [[nodiscard]] std::optional<PatternChoice> choice() const;
  /// By title; unknown or empty: the first entry.
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

  PatternListModel* patterns_ = nullptr;
  QComboBox* box_;
  WindowBox* window_;
  int last_ = 0;  // the entry to return to if no file was opened
};

class AttentionSource : public QWidget {
  Q_OBJECT
 public:
  /// `checkpoint`: the page's action that opens a checkpoint.
  AttentionSource(AttentionSession* session, QAction* checkpoint, QWidget* parent = nullptr);
  ~AttentionSource() override;

  void ask_for_dump();
  [[nodiscard]] PatternPicker* first() const;
  [[nodiscard]] PatternPicker* second() const;
  [[nodiscard]] HeadGrid* heads() const;

 Q_SIGNALS:
  void failed(const QString& sentence);

 private:
  void describe();
  void describe_regions();
  void show_parts_of(bool dump);
  void fill_menu();

  AttentionSession* session_;
  PatternListModel patterns_;
  std::unique_ptr<Ui::AttentionSource> ui_;
};

}  // namespace attnscope::gui
