#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The fields of a new run: name, contenders, windows, lengths, device, and all other axes behind
// "Advanced". What is wrong stands beneath its field.

#include <QWidget>
#include <map>

#include "app/gui/session/device_list.h"
#include "app/gui/session/sweep_draft.h"

class QComboBox;
class QFormLayout;
class QLineEdit;
class QToolButton;

namespace attnscope::gui {

class ContenderChips;
class ProblemLabel;

class SweepForm : public QWidget {
  Q_OBJECT
 public:
  explicit SweepForm(QWidget* parent = nullptr);

  /// Fills the fields; nobody is told of an edit.
  void set_draft(const SweepDraft& draft);
  /// What the fields hold, upon the text that they came from.
  [[nodiscard]] SweepDraft draft() const;
  void set_name(const QString& name);
  [[nodiscard]] QString name() const;
  void set_lengths(const QString& lengths);
  void set_device(const QString& device);
  void set_devices(const QList<ListedDevice>& devices);
  void show_problems(const CheckedDraft& checked);
  void show_advanced(bool shown);
  [[nodiscard]] ContenderChips* contenders() const { return contenders_; }

 Q_SIGNALS:
  /// By a person.
  void edited();

 private:
  struct Field {
    QWidget* control = nullptr;
    ProblemLabel* problem = nullptr;
  };
  QLineEdit* add_line(QFormLayout& form, const QString& label, const char* name, Field& field);
  void build_basic();
  void build_advanced();
  void add_axes(QFormLayout& form);
  [[nodiscard]] QString axis(const QString& key) const;
  /// Patterns or models, as the operation has it.
  void name_contenders();

  ContenderChips* contenders_;
  QLineEdit *name_, *windows_, *lengths_, *documents_;
  QComboBox *device_, *direction_;
  Field windows_field_, lengths_field_, documents_field_;
  QToolButton* more_;
  QWidget* advanced_;
  std::map<QString, Field> axes_;
  std::string base_text_;
};

}  // namespace attnscope::gui
