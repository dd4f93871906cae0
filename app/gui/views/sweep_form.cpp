// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/sweep_form.h"

#include <QComboBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QStandardItemModel>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/gui/session/sweep_axes.h"
#include "app/gui/views/contender_chips.h"
#include "app/gui/views/problem_label.h"

namespace attnscope::gui {
namespace {

QFormLayout* form_layout() {
  auto* form = new QFormLayout;
  form->setContentsMargins(0, 0, 0, 0);
  form->setFieldGrowthPolicy(QFormLayout::ExpandingFieldsGrow);
  form->setRowWrapPolicy(QFormLayout::WrapLongRows);
  form->setLabelAlignment(Qt::AlignLeft | Qt::AlignTop);
  form->setHorizontalSpacing(14);
  form->setVerticalSpacing(8);
  return form;
}

/// The label is the control's, though the control stands above its problem.
void add_row(QFormLayout& form, const QString& text, QWidget* control, ProblemLabel* problem) {
  auto* both = new QWidget;
  auto* column = new QVBoxLayout(both);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(3);
  column->addWidget(control);
  if (problem) column->addWidget(problem);
  auto* label = new QLabel(text);
  label->setBuddy(control);
  form.addRow(label, both);
}

QString axis_object_name(const QString& key) {
  return QString(key).replace(QLatin1Char('.'), QLatin1Char('_'));
}

}  // namespace

SweepForm::SweepForm(QWidget* parent)
    : QWidget(parent),
      contenders_(new ContenderChips),
      device_(new QComboBox),
      direction_(new QComboBox),
      more_(new QToolButton),
      advanced_(new QWidget) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(10);
  build_basic();
  layout->addWidget(more_);
  build_advanced();
  layout->addWidget(advanced_);
  layout->addStretch();
  connect(contenders_, &ContenderChips::edited, this, &SweepForm::edited);
  for (QComboBox* box : {device_, direction_})
    connect(box, &QComboBox::activated, this, &SweepForm::edited);
  connect(this, &SweepForm::edited, this, &SweepForm::name_contenders);
  show_advanced(false);
}

QLineEdit* SweepForm::add_line(QFormLayout& form, const QString& label, const char* name,
                               Field& field) {
  auto* line = new QLineEdit;
  line->setObjectName(QLatin1String(name));
  field.control = line;
  field.problem = new ProblemLabel(qPrintable(QLatin1String(name) + QStringLiteral("_problem")));
  add_row(form, label, line, field.problem);
  connect(line, &QLineEdit::textEdited, this, &SweepForm::edited);
  return line;
}

void SweepForm::build_basic() {
  auto* form = form_layout();
  Field name;
  name_ = add_line(*form, tr("&Name"), "sweep_name", name);
  add_row(*form, tr("Contenders"), contenders_, nullptr);
  windows_ = add_line(*form, tr("&Windows"), "windows", windows_field_);
  windows_->setPlaceholderText(tr("4, 64, inf"));
  windows_->setToolTip(tr("One-sided window widths: numbers, ranges such as 1:64:*2, and inf"));
  lengths_ = add_line(*form, tr("Len&gths (tokens)"), "lengths", lengths_field_);
  lengths_->setPlaceholderText(tr("64:4096:*2"));
  lengths_->setToolTip(
      tr("Tokens of a whole sequence: 64, or a range 64:2048:*2 (doubling) or 64:512:+64 (steps)"));
  device_->setObjectName(QStringLiteral("sweep_device"));
  device_->addItem(QStringLiteral("cpu"), QStringLiteral("cpu"));
  device_->addItem(QStringLiteral("cuda"), QStringLiteral("cuda"));
  add_row(*form, tr("Dev&ice"), device_, nullptr);
  static_cast<QVBoxLayout*>(layout())->addLayout(form);

  more_->setObjectName(QStringLiteral("advanced"));
  more_->setText(tr("Advanced: all other axes (Alt+&M)"));
  more_->setToolTip(tr("What else a sweep can vary, and when a cell is measured well enough"));
  more_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  more_->setCheckable(true);
  more_->setAutoRaise(true);
  more_->setFocusPolicy(Qt::StrongFocus);
  connect(more_, &QToolButton::toggled, this, &SweepForm::show_advanced);
}

void SweepForm::build_advanced() {
  auto* form = form_layout();
  advanced_->setObjectName(QStringLiteral("advanced_axes"));
  direction_->setObjectName(QStringLiteral("direction"));
  direction_->addItem(tr("Forward"), QStringLiteral("forward"));
  direction_->addItem(tr("Forward and backward, timed together"),
                      QStringLiteral("forward-backward"));
  direction_->addItem(tr("Both, side by side"), QStringLiteral("forward, forward-backward"));
  auto* hint = new QLabel(tr("A list such as 8, 12 makes a field an axis. Empty: the default."));
  hint->setForegroundRole(QPalette::PlaceholderText);
  hint->setWordWrap(true);
  form->addRow(hint);
  add_row(*form, tr("Direction"), direction_, nullptr);
  documents_ = add_line(*form, tr("Documents an item"), "documents", documents_field_);
  documents_->setToolTip(tr(
      "Documents beside one query, which share the length evenly; a list such as 1, 4 compares"));
  add_axes(*form);
  auto* column = new QVBoxLayout(advanced_);
  column->setContentsMargins(12, 0, 0, 0);
  column->addLayout(form);
}

void SweepForm::add_axes(QFormLayout& form) {
  for (const SweepAxis& axis : sweep_axes()) {
    Field& field = axes_[axis.key];
    const QString name = axis_object_name(axis.key);
    if (axis.choices.isEmpty()) {
      add_line(form, axis.name, qPrintable(name), field);
    } else {
      auto* box = new QComboBox;
      box->setEditable(true);
      box->setInsertPolicy(QComboBox::NoInsert);
      box->setObjectName(name + QStringLiteral("_choice"));
      box->setAccessibleName(axis.name);
      box->lineEdit()->setObjectName(name);
      box->addItems(axis.choices);
      field.control = box;
      field.problem = new ProblemLabel(qPrintable(name + QStringLiteral("_problem")));
      add_row(form, axis.name, box, field.problem);
      connect(box, &QComboBox::activated, this, &SweepForm::edited);
      connect(box->lineEdit(), &QLineEdit::textEdited, this, &SweepForm::edited);
    }
    field.control->setToolTip(axis.tip);
    auto* box = qobject_cast<QComboBox*>(field.control);
    QLineEdit* line = box ? box->lineEdit() : static_cast<QLineEdit*>(field.control);
    line->setPlaceholderText(axis.fallback);
  }
}

void SweepForm::show_advanced(bool shown) {
  more_->setChecked(shown);
  more_->setArrowType(shown ? Qt::DownArrow : Qt::RightArrow);
  advanced_->setVisible(shown);
}

void SweepForm::set_draft(const SweepDraft& draft) {
  base_text_ = draft.base_text;
  name_->setText(draft.name);
  contenders_->set_checked(draft.contenders);
  windows_->setText(draft.windows);
  lengths_->setText(draft.lengths);
  documents_->setText(draft.documents);
  direction_->setCurrentIndex(direction_->findData(draft.direction));
  set_device(draft.device);
  for (auto& [key, field] : axes_) {
    const auto found = draft.axes.find(key);
    const QString text = found == draft.axes.end() ? QString() : found->second;
    if (auto* box = qobject_cast<QComboBox*>(field.control)) {
      box->setCurrentIndex(-1);
      box->setEditText(text);
    } else {
      static_cast<QLineEdit*>(field.control)->setText(text);
    }
  }
  name_contenders();
}

QString SweepForm::axis(const QString& key) const {
  QWidget* const control = axes_.at(key).control;
  const auto* box = qobject_cast<QComboBox*>(control);
  return (box ? box->currentText() : static_cast<QLineEdit*>(control)->text()).trimmed();
}

void SweepForm::name_contenders() {
  contenders_->show_models(axis(QStringLiteral("operation")) == QLatin1String("model"));
}

SweepDraft SweepForm::draft() const {
  SweepDraft draft{.base_text = base_text_,
                   .name = name(),
                   .contenders = contenders_->checked(),
                   .windows = windows_->text().trimmed(),
                   .lengths = lengths_->text().trimmed(),
                   .documents = documents_->text().trimmed(),
                   .direction = direction_->currentData().toString(),
                   .device = device_->currentData().toString()};
  for (const auto& [key, field] : axes_) draft.axes[key] = axis(key);
  return draft;
}

void SweepForm::set_name(const QString& name) {
  name_->setText(name);
}

QString SweepForm::name() const {
  return name_->text().trimmed();
}

void SweepForm::set_lengths(const QString& lengths) {
  lengths_->setText(lengths);
}

void SweepForm::set_device(const QString& device) {
  if (device_->findData(device) < 0) device_->addItem(device, device);  // a list of them
  device_->setCurrentIndex(device_->findData(device));
}

void SweepForm::set_devices(const QList<ListedDevice>& devices) {
  const QString chosen = device_->currentData().toString();
  device_->clear();
  for (const ListedDevice& listed : devices) {
    const QString what = listed.available ? listed.name : listed.reason;
    device_->addItem(what.isEmpty() ? listed.kind : QStringLiteral("%1: %2").arg(listed.kind, what),
                     listed.kind);
    auto* model = qobject_cast<QStandardItemModel*>(device_->model());
    if (!listed.available && model) model->item(device_->count() - 1)->setEnabled(false);
  }
  set_device(chosen);
}

void SweepForm::show_problems(const CheckedDraft& checked) {
  contenders_->set_problem(checked.contenders_problem);
  windows_field_.problem->set_problem(checked.windows_problem);
  lengths_field_.problem->set_problem(checked.lengths_problem);
  documents_field_.problem->set_problem(checked.documents_problem);
  bool behind = !checked.documents_problem.isEmpty();
  for (auto& [key, field] : axes_) {
    const auto found = checked.axis_problems.find(key);
    const bool wrong = found != checked.axis_problems.end();
    field.problem->set_problem(wrong ? found->second : QString());
    behind = behind || wrong;
  }
  if (behind) show_advanced(true);
}

}  // namespace attnscope::gui
