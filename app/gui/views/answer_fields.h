#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What a person re-ranks: query, documents, candidates and limits, each with what is wrong beneath
// it. Kept from one start to the next.

#include <QWidget>
#include <optional>

#include "app/gui/models/question_text.h"
#include "app/gui/session/find_answer.h"

class QComboBox;
class QFormLayout;
class QLineEdit;
class QToolButton;

namespace attnscope::gui {

class ProblemLabel;

class AnswerFields : public QWidget {
  Q_OBJECT
 public:
  explicit AnswerFields(QWidget* parent = nullptr);

  /// Nothing while a field cannot be read.
  [[nodiscard]] const std::optional<AskedQuestion>& asked() const { return asked_; }
  /// Of the file of lengths, which is read elsewhere; empty: nothing is wrong.
  void set_file_problem(const QString& sentence);

  /// What is wrong with the first such field, in a sentence; empty: nothing.
  [[nodiscard]] QString problem() const;

  [[nodiscard]] QLineEdit* documents() const { return documents_.edit; }

 Q_SIGNALS:
  void changed();
  void file_wanted();

 private:
  struct Field {
    QLineEdit* edit = nullptr;
    ProblemLabel* problem = nullptr;
  };
  /// `name` is the setting's and the widgets' too.
  Field add_field(const char* name, const QString& label, const QString& full_name,
                  const QString& tip, int characters, const QString& unit = {},
                  QWidget* button = nullptr);
  void check();

  QFormLayout* form_;
  QToolButton* file_;
  QComboBox* of_;  // what the lengths are of
  Field query_, documents_, candidates_, memory_, latency_;
  std::optional<AskedQuestion> asked_;
};

}  // namespace attnscope::gui
