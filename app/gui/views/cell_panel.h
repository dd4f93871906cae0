#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// One cell of a run: its facts in words, the command that measures it again, and its samples by
// placement.

#include <QWidget>
#include <cstddef>
#include <optional>

#include "app/gui/models/cell_facts.h"
#include "app/gui/session/snapshot.h"

class QLabel;
class QLayout;
class QPlainTextEdit;
class QPushButton;
class QScrollArea;
class QVBoxLayout;

namespace attnscope::charts {
class RunChart;
}

namespace attnscope::gui {

class CellPanel : public QWidget {
  Q_OBJECT
 public:
  explicit CellPanel(QWidget* parent = nullptr);

  /// A row of the run's table; without one, the panel explains how to select a cell.
  void show_cell(const RunPointer& run, std::optional<std::size_t> table_row);
  /// The chart of the cell's samples; the owner places it.
  [[nodiscard]] charts::RunChart* samples() const { return samples_; }
  /// The whole text as lines, for the Copy button.
  [[nodiscard]] QString text() const;
  [[nodiscard]] QString command() const;

 Q_SIGNALS:
  void succeeded(const QString& sentence);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  QLayout* build_head();
  QWidget* build_command();
  void show_facts();
  void show_command();

  RunPointer run_;
  std::optional<std::size_t> row_;
  CellFacts facts_;
  QLabel* title_;
  QLabel* setting_;
  QLabel* status_;
  charts::RunChart* samples_;
  QWidget* sections_ = nullptr;
  QVBoxLayout* body_;
  QScrollArea* scroll_;
  QWidget* repeat_;
  QPlainTextEdit* command_;
  QLabel* beyond_;
};

}  // namespace attnscope::gui
