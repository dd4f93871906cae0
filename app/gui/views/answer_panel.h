#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The answer of a run to a question, next to the effectiveness of the contenders.

#include <QTimer>
#include <QWidget>
#include <string>
#include <vector>

#include "app/gui/session/latest_job.h"
#include "app/gui/session/snapshot.h"
#include "app/gui/session/worker_questions.h"
#include "engine/report/advice.h"

class QAction;
class QComboBox;
class QLabel;
class QLayout;

namespace attnscope::charts {
class RunChart;
}

namespace attnscope::gui {

/// Shown next to an answer: the cost of each contender against its effectiveness, as measured with
/// the run or else as published in the paper, one point per contender, and the number of contenders
/// without a point.
class EffectivenessPlot : public QWidget {
  Q_OBJECT
 public:
  explicit EffectivenessPlot(QWidget* parent = nullptr);

  /// Ids of all the run's contenders, which determine their styles.
  void set_contenders(const std::vector<std::string>& ids);
  void show_advice(const report::Advice& advice);
  void clear();

  [[nodiscard]] charts::RunChart* chart() const { return chart_; }

 Q_SIGNALS:
  void succeeded(const QString& sentence);

 private:
  charts::RunChart* chart_;
  QLabel* absent_;
};

class AnswerFields;
class AnswerList;
class PopupButton;

/// Below a run: a question (query, documents, candidates, limits) under a button that shows it, and
/// the run's answer, the best contender first, next to the paper's effectiveness.
///
/// Lengths may come from a file, or from pairs of texts that are dropped here.
///
/// Answers are computed on a separate thread; of several requests while typing, only the last is
/// shown.
class AnswerPanel : public QWidget {
  Q_OBJECT
 public:
  explicit AnswerPanel(QWidget* parent = nullptr);
  ~AnswerPanel() override;

  void show_run(const RunPointer& run);
  [[nodiscard]] AnswerFields* fields() const { return fields_; }
  [[nodiscard]] AnswerList* list() const { return list_; }
  [[nodiscard]] EffectivenessPlot* plot() const { return plot_; }
  /// The answer that is shown; null: none.
  [[nodiscard]] const report::Advice* advice() const;
  /// Lengths, or pairs of texts: for pairs, asks for a checkpoint whose tokenizer counts them.
  void take_lengths(const QString& file);
  /// The whole answer, with the machine and settings of the run.
  [[nodiscard]] QString text() const;

 Q_SIGNALS:
  /// A sweep of the shown setting, with the lengths that the answer lacks.
  void measure_requested(const QString& sweep_text);
  /// The user opens the question; the panel must be made visible.
  void question_wanted();
  void succeeded(const QString& sentence);
  void failed(const QString& sentence);

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  QLayout* build_head();
  QWidget* build_body();
  void build_actions();
  void update_answer();
  void show_answer(const AnswerPointer& answer);
  void show_setting();
  /// Text in place of an answer; empty: there is an answer.
  void show_sentence(const QString& sentence);
  void go_to_question();
  void choose_file();
  void measure();
  void copy();
  void save();

  QComboBox* settings_;
  QLabel* nothing_;
  AnswerFields* fields_;
  PopupButton* question_;
  AnswerList* list_;
  EffectivenessPlot* plot_;
  QAction *measure_ = nullptr, *copy_ = nullptr, *save_ = nullptr;

  RunPointer run_;
  AnswerPointer answer_;
  QString begun_;  // the run whose lengths filled the question
  QTimer typing_;
  TextLengths lengths_;
  LatestJob job_;
};

}  // namespace attnscope::gui
