#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Page Patterns: a pattern on one query and one document, as a mask; what it costs beside it.

#include <QWidget>
#include <optional>

#include "app/gui/models/pattern_list_model.h"
#include "engine/pattern/sequence_layout.h"
#include "engine/pattern/window.h"

class QButtonGroup;
class QLabel;
class QListView;
class QSlider;
class QSpinBox;
class QPushButton;

namespace attnscope::charts {
class MaskView;
}

namespace attnscope::gui {

class MessageBar;
class PatternCosts;

class PatternsPage : public QWidget {
  Q_OBJECT
 public:
  explicit PatternsPage(QWidget* parent = nullptr);

  /// The error, if any, is also shown on the page.
  Status open_file(const QString& file);
  void choose(const QString& pattern_name);
  void ask_for_file();

  [[nodiscard]] charts::MaskView* mask() const { return mask_; }
  [[nodiscard]] QLabel* explanation() const { return explanation_; }
  [[nodiscard]] QListView* pattern_list() const { return list_; }
  [[nodiscard]] QSlider* window_slider() const { return window_slider_; }
  [[nodiscard]] PatternCosts* costs() const { return costs_; }
  [[nodiscard]] MessageBar* messages() const { return messages_; }

  /// The pattern with the sentence stride chosen here.
  [[nodiscard]] AttentionPattern pattern() const;
  [[nodiscard]] std::optional<Window> window() const;
  [[nodiscard]] LayoutItem item() const;

 private:
  QWidget* build_left();
  QWidget* build_controls();
  QWidget* build_middle();
  QWidget* build_right();
  QWidget* build_styles();
  void pattern_chosen();
  void refresh();
  void hovered(qint64 query, qint64 key);
  void export_mask(const QString& extension);

  PatternListModel patterns_;
  QListView* list_;
  QSlider* window_slider_;
  QLabel* window_value_;
  QSpinBox* query_;
  QSpinBox* document_;
  QSpinBox* stride_;
  QLabel* stride_label_;
  QLabel* title_;
  QLabel* description_;
  QButtonGroup* styles_;
  charts::MaskView* mask_;
  QLabel* explanation_;
  PatternCosts* costs_;
  QPushButton* export_;
  MessageBar* messages_;
};

/// The windows the slider stops at: fine where windows are small, then doubling, then all.
[[nodiscard]] const std::vector<Window>& slider_windows();

}  // namespace attnscope::gui
