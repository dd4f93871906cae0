#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What a person re-ranks: query, documents, candidates and limits, each with what is wrong beneath
// it. Kept from one start to the next.

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

  /// Nothing while a field cannot be read.
  [[nodiscard]] const std::optional<AskedQuestion>& asked() const { return asked_; }
  /// While the person has typed no lengths and candidates of their own: those of a cell.
  void begin_with(const report::Row& row);
  /// Of the file of lengths, which is read elsewhere; empty: nothing is wrong.
  void set_file_problem(const QString& sentence);

  /// What is wrong with the first such field, in a sentence; empty: nothing.
  [[nodiscard]] QString problem() const;

  [[nodiscard]] QLineEdit* documents() const;

 Q_SIGNALS:
  void changed();
  void file_wanted();

 private:
  using Reader = std::function<Status(const QString& text, AskedQuestion& into)>;
  struct Field {
    QLineEdit* edit = nullptr;
    ProblemLabel* problem = nullptr;
    Reader read;
  };
  void bind(QLineEdit* edit, int characters, ProblemLabel* problem, Reader read);
  void check();

  std::unique_ptr<Ui::AnswerFields> ui_;
  std::vector<Field> fields_;
  std::optional<AskedQuestion> asked_;
};

}  // namespace attnscope::gui
