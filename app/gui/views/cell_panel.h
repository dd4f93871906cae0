#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// One cell of a run: the facts about it in words, by section, and the panel that shows them.

#include <QString>
#include <QWidget>
#include <cstddef>
#include <optional>
#include <vector>

#include "app/gui/session/snapshot.h"
#include "engine/report/pivot.h"

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

struct CellFact {
  QString name, value;
  bool warns = false;  // needs attention before the number is used
};

struct CellFacts {
  QString title;    // the contender
  QString brief;    // what distinguishes its heat from the run's others
  QString setting;  // every axis of the heat
  QString status;   // "ok", or the error and its reason
  bool failed = false;
  struct Section {
    QString name;
    std::vector<CellFact> facts;
  };
  std::vector<Section> sections;
};

[[nodiscard]] CellFacts cell_facts(const report::Table& table, const report::Row& row);

/// Tool tip of a number in a table: its interval, or why there is none.
[[nodiscard]] QString cell_tip(const report::Row& row, report::Quantity quantity);

/// One cell of a run: its facts in words, the command that measures it again, and its samples by
/// placement.
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
