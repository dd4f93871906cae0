#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The left side of page Attention: the source of the weights, the patterns, and the heads to select
// from; and the dialog in which the attention of a checkpoint is computed.

#include <QDialog>
#include <QTableWidget>
#include <QVariantMap>
#include <QWidget>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/models/pattern_editor.h"
#include "app/gui/session/attention_session.h"
#include "app/gui/session/worker_questions.h"
#include "engine/inspect/dump.h"
#include "engine/inspect/head_summary.h"

class QAction;
class QComboBox;
class QPushButton;

namespace attnscope::gui {

/// The heads of a dump, one row per layer, with a small map of each head as it is computed; after
/// several heads, their mean. A layer with many heads takes several rows. A head is selected by
/// mouse or arrow keys.
class HeadGrid : public QTableWidget {
  Q_OBJECT
 public:
  explicit HeadGrid(QWidget* parent = nullptr);

  /// Starts without pictures; set_summary adds them.
  void set_dump(const std::shared_ptr<const Dump>& dump);
  void set_summary(int layer, int head, const std::shared_ptr<const HeadSummary>& summary);
  void choose(int layer, int head);
  /// "layer 3, head 1", numbered from 0 as in the model.
  [[nodiscard]] QString name_of(int layer, int head) const;

 Q_SIGNALS:
  void chosen(int layer, int head);

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  void currentChanged(const QModelIndex& current, const QModelIndex& previous) override;

 private:
  void draw(int layer, int head);
  /// Rebuilds the grid with `lines` rows per layer.
  void set_lines(int lines);
  /// Number of rows that makes the pictures of one layer largest.
  [[nodiscard]] int best_lines() const;
  /// Side length of a picture.
  [[nodiscard]] int side_in(int lines) const;
  /// Makes the cells as large as the room allows, between the smallest and largest useful size.
  void fit_cells();

  std::vector<std::int64_t> layers_;
  int heads_ = 0;
  int pictures_ = 0;  // number of heads, plus one for their mean
  bool is_wrapping_ = false;
  int lines_ = 1, across_ = 1;  // rows per layer, and pictures per row
  std::vector<std::vector<std::shared_ptr<const HeadSummary>>> summaries_;  // [layer][head]
};

class WindowBox;
namespace Ui {
class AttentionSource;
class CheckpointDialog;
}  // namespace Ui

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
  void set_no_choice_text(const QString& words);
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

/// The left side of page Attention: the source of the weights, the patterns, and the heads to
/// select from.
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

/// Takes a checkpoint's folder, a query with its document and an attention pattern; the model's
/// attention is computed in the background while the window stays usable. Input is remembered.
/// Queries and documents may come from a comparison of rankings (engine/report/effectiveness.h),
/// pair by pair.
class CheckpointDialog : public QDialog {
  Q_OBJECT
 public:
  explicit CheckpointDialog(QWidget* parent = nullptr);
  ~CheckpointDialog() override;

  /// Selects the first pair of the comparison.
  void open_comparison(const QString& file);

 Q_SIGNALS:
  /// Emitted as the dialog closes. `alongside`: the choice of the PatternPicker to compare with.
  void written(const QString& file, const QVariantMap& alongside);

 private:
  void build();
  void read_document(const QString& file);
  [[nodiscard]] Status read_comparison(const QString& file);
  void take_pair(int at);
  void compute();
  void busy_changed();
  void changed();

  PatternListModel patterns_;
  CheckpointInspection inspection_;
  std::unique_ptr<Ui::CheckpointDialog> ui_;
  QPushButton* compute_ = nullptr;
  std::vector<std::pair<std::string, std::string>> pairs_;  // texts of the comparison's pairs
};

}  // namespace attnscope::gui
