#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The parts of an answer: the fields of the question, and the list of contenders.

#include <QListView>
#include <QWidget>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "app/gui/session/snapshot.h"
#include "engine/report/advice.h"

class QLineEdit;

namespace attnscope::gui {

class ProblemLabel;
namespace Ui {
class AnswerFields;
}

/// The input of a re-ranking question: query, documents, candidates and limits, each with its error
/// below it. Kept across restarts.
class AnswerFields : public QWidget {
  Q_OBJECT
 public:
  explicit AnswerFields(QWidget* parent = nullptr);
  ~AnswerFields() override;

  /// Nothing while a field is invalid.
  [[nodiscard]] const std::optional<RequestedQuestion>& requested() const { return requested_; }
  /// Fills in the lengths and candidates of a cell, unless the user has typed their own.
  void begin_with(const report::Row& row);
  /// Error of the file of lengths, which is read elsewhere; empty: no error.
  void set_file_problem(const QString& sentence);

  /// The error of the first invalid field, as a sentence; empty: none.
  [[nodiscard]] QString problem() const;

  [[nodiscard]] QLineEdit* documents() const;

 Q_SIGNALS:
  void changed();
  void file_wanted();

 private:
  using Reader = std::function<Status(const QString& text, RequestedQuestion& into)>;
  struct Field {
    QLineEdit* edit = nullptr;
    ProblemLabel* problem = nullptr;
    Reader read;
  };
  void bind(QLineEdit* edit, int characters, ProblemLabel* problem, Reader read);
  void check();

  std::unique_ptr<Ui::AnswerFields> ui_;
  std::vector<Field> fields_;
  std::optional<RequestedQuestion> requested_;
};

/// The contenders of an answer in reading order: place, the contender's line and marker, and its
/// sentence (wrapped) with a bar in the colour of the verdict, which the sentence also states; then
/// remarks on all of them. Up and Down move through the contenders and open the details of each;
/// Ctrl+C copies the open one.
class AnswerList : public QListView {
  Q_OBJECT
 public:
  explicit AnswerList(QWidget* parent = nullptr);

  /// Ids of all the run's contenders, which determine their styles.
  void set_contenders(const std::vector<std::string>& ids);
  /// Keeps the contender that is open. Nothing: no answer.
  void show_advice(std::optional<report::Advice> advice);

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 Q_SIGNALS:
  void copied();

 protected:
  void currentChanged(const QModelIndex& current, const QModelIndex& previous) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  class Rows;
  class Delegate;
  void copy_current();

  Rows* rows_;
  Delegate* delegate_;
};

}  // namespace attnscope::gui
