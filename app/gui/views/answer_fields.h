#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The input of a re-ranking question: query, documents, candidates and limits, each with its error
// below it. Kept across restarts.

#include <QWidget>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "app/gui/session/snapshot.h"

class QLineEdit;

namespace attnscope::gui {

class ProblemLabel;
namespace Ui {
class AnswerFields;
}

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

}  // namespace attnscope::gui
