#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The form for a new run: a preset, or a preset changed. Every field is checked while it is typed,
// and what is wrong stands beneath it.

#include <QDialog>

#include "app/gui/models/contender_matrix_model.h"
#include "app/gui/session/sweep_draft.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QTableView;

namespace attnscope::gui {

class NewRunDialog : public QDialog {
  Q_OBJECT
 public:
  explicit NewRunDialog(QWidget* parent = nullptr);

  void choose_preset(const QString& name);
  /// Fills the form from a sweep's JSON; what is no sweep is said in the form, which stays as it
  /// is.
  bool begin_with(const QString& sweep_text);
  /// The implementations this machine has; `problem` says why they are not known.
  void set_implementations(const QList<ContenderMatrixModel::Named>& implementations,
                           const QString& problem);
  /// set_implementations has been called.
  [[nodiscard]] bool is_listed() const { return listed_; }
  [[nodiscard]] const CheckedDraft& checked() const { return checked_; }

 Q_SIGNALS:
  void start_asked(const std::string& sweep_text);

 private:
  void build();
  void load(const NamedSweep& preset);
  void edited();
  void check_fields();
  [[nodiscard]] SweepDraft draft() const;

  ContenderMatrixModel matrix_model_;
  std::string base_text_;
  CheckedDraft checked_;
  bool loading_ = false;  // fields are being filled, not edited
  bool listed_ = false;

  QComboBox* preset_;
  QLineEdit* name_;
  QTableView* matrix_;
  QLineEdit* windows_;
  QLineEdit* lengths_;
  QLineEdit* documents_;
  QComboBox* direction_;
  QComboBox* device_;
  QLabel *implementations_problem_, *contenders_problem_, *windows_problem_, *lengths_problem_,
      *documents_problem_, *other_problem_;
  QLabel* estimate_;
  QPushButton* start_;
};

}  // namespace attnscope::gui
