#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The item a pattern is shown on: query tokens, one or several documents, where sentences start.
// And the heads that its costs are counted for.

#include <QWidget>

#include "app/gui/models/pattern_editor.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QSpinBox;

namespace attnscope::gui {

class ProblemLabel;

class PatternItemBox : public QWidget {
  Q_OBJECT
 public:
  static constexpr int most_tokens = 1'000'000;  // that a mask shows

  explicit PatternItemBox(PatternEditor& editor, QWidget* parent = nullptr);

  [[nodiscard]] int heads() const;
  [[nodiscard]] int head_dim() const;

 Q_SIGNALS:
  /// Heads or their dimension, which are no part of an item and no step that is undone.
  void heads_changed();

 private:
  void build();
  void wire();
  void refresh();
  void refresh_documents();
  void refresh_sentences();
  void documents_typed();
  void sentences_chosen();
  void starts_typed();
  /// Where a stride would put them, as a list to begin with.
  [[nodiscard]] std::vector<std::int64_t> starts_by_stride() const;

  PatternEditor& editor_;
  QSpinBox *query_, *document_, *count_, *heads_, *head_dim_;
  QLineEdit* lengths_;
  ProblemLabel* documents_problem_;
  QLabel* sentences_label_;
  QComboBox* sentences_;
  QSpinBox* stride_;
  QLineEdit* starts_;
  ProblemLabel* sentences_problem_;
};

}  // namespace attnscope::gui
