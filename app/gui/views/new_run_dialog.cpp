// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/new_run_dialog.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTableView>
#include <QVBoxLayout>

#include "app/gui/session/text.h"
#include "app/gui/views/check_delegate.h"
#include "app/gui/views/theme.h"
#include "engine/pattern/attention_pattern.h"

namespace attnscope::gui {
namespace {

QLabel* problem_label(const char* name) {
  auto* label = new QLabel;
  label->setObjectName(QLatin1String(name));
  label->setWordWrap(true);
  QPalette palette = label->palette();
  palette.setColor(QPalette::WindowText, error_text(palette));
  label->setPalette(palette);
  label->hide();
  return label;
}

void say(QLabel* label, const QString& sentence) {
  label->setText(sentence);
  label->setVisible(!sentence.isEmpty());
}

QWidget* with_problem(QWidget* field, QLabel* problem) {
  auto* both = new QWidget;
  auto* layout = new QVBoxLayout(both);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(4);
  layout->addWidget(field);
  layout->addWidget(problem);
  return both;
}

QList<ContenderMatrixModel::Named> pattern_names() {
  QList<ContenderMatrixModel::Named> names;
  for (const AttentionPattern& pattern : built_in_patterns())
    names.append({words(pattern.name), words(pattern.description)});
  return names;
}

}  // namespace

NewRunDialog::NewRunDialog(QWidget* parent)
    : QDialog(parent),
      preset_(new QComboBox),
      name_(new QLineEdit),
      matrix_(new QTableView),
      windows_(new QLineEdit),
      lengths_(new QLineEdit),
      documents_(new QLineEdit),
      direction_(new QComboBox),
      device_(new QComboBox),
      implementations_problem_(problem_label("implementations_problem")),
      contenders_problem_(problem_label("contenders_problem")),
      windows_problem_(problem_label("windows_problem")),
      lengths_problem_(problem_label("lengths_problem")),
      documents_problem_(problem_label("documents_problem")),
      other_problem_(problem_label("other_problem")),
      estimate_(new QLabel),
      start_(new QPushButton(tr("Start run"))) {
  setWindowTitle(tr("New run"));
  build();
  matrix_model_.set_names(pattern_names(), {});
  for (const NamedSweep& preset : built_in_sweeps()) preset_->addItem(words(preset.name));
  preset_->addItem(tr("Custom"));
  connect(preset_, &QComboBox::currentIndexChanged, this, [this](int index) {
    const auto& presets = built_in_sweeps();
    if (!loading_ && index >= 0 && index < static_cast<int>(presets.size()))
      load(presets[static_cast<std::size_t>(index)]);
  });
  for (QLineEdit* field : {name_, windows_, lengths_, documents_})
    connect(field, &QLineEdit::textEdited, this, &NewRunDialog::edited);
  for (QComboBox* field : {direction_, device_})
    connect(field, &QComboBox::activated, this, &NewRunDialog::edited);
  connect(&matrix_model_, &ContenderMatrixModel::edited, this, &NewRunDialog::edited);
  if (!built_in_sweeps().empty()) load(built_in_sweeps().front());
  check_fields();
}

void NewRunDialog::build() {
  preset_->setObjectName(QStringLiteral("preset"));
  name_->setObjectName(QStringLiteral("sweep_name"));
  windows_->setObjectName(QStringLiteral("windows"));
  lengths_->setObjectName(QStringLiteral("lengths"));
  documents_->setObjectName(QStringLiteral("documents"));
  direction_->setObjectName(QStringLiteral("direction"));
  device_->setObjectName(QStringLiteral("device"));
  matrix_->setObjectName(QStringLiteral("contenders"));
  start_->setObjectName(QStringLiteral("start_run"));
  estimate_->setObjectName(QStringLiteral("estimate"));
  estimate_->setWordWrap(true);

  direction_->addItem(tr("Forward"), QStringLiteral("forward"));
  direction_->addItem(tr("Forward and backward, timed together"),
                      QStringLiteral("forward-backward"));
  direction_->addItem(tr("Both, side by side"), QStringLiteral("forward, forward-backward"));
  device_->addItems({QStringLiteral("cpu"), QStringLiteral("cuda")});
  windows_->setPlaceholderText(tr("4, 64, inf"));
  windows_->setToolTip(tr("One-sided window widths: numbers, ranges such as 1:64:*2, and inf"));
  lengths_->setPlaceholderText(tr("64:2048:*2"));
  lengths_->setToolTip(
      tr("Tokens of a whole sequence: 64, or a range 64:2048:*2 (doubling) or 64:512:+64 (steps)"));

  documents_->setToolTip(tr(
      "Documents beside one query, which share the length evenly; a list such as 1, 4 compares"));

  matrix_->setModel(&matrix_model_);
  matrix_->setItemDelegate(new CheckDelegate(matrix_));
  matrix_->setAccessibleName(tr("Contenders: implementations down, patterns across"));
  matrix_->setSelectionMode(QAbstractItemView::SingleSelection);
  matrix_->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  matrix_->verticalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  matrix_->horizontalHeader()->setHighlightSections(false);
  matrix_->verticalHeader()->setHighlightSections(false);
  matrix_->horizontalHeader()->setMinimumSectionSize(76);
  matrix_->verticalHeader()->setMinimumSectionSize(28);
  matrix_->setSizeAdjustPolicy(QAbstractScrollArea::AdjustToContents);

  auto* contenders = new QWidget;
  auto* contenders_layout = new QVBoxLayout(contenders);
  contenders_layout->setContentsMargins(0, 0, 0, 0);
  contenders_layout->setSpacing(4);
  contenders_layout->addWidget(matrix_);
  contenders_layout->addWidget(contenders_problem_);
  contenders_layout->addWidget(implementations_problem_);

  auto* form = new QFormLayout;
  form->setFieldGrowthPolicy(QFormLayout::ExpandingFieldsGrow);
  form->setLabelAlignment(Qt::AlignLeft | Qt::AlignTop);
  form->setHorizontalSpacing(16);
  form->setVerticalSpacing(10);
  form->addRow(tr("&Preset"), preset_);
  form->addRow(tr("&Name"), name_);
  form->addRow(tr("&Contenders"), contenders);
  form->addRow(tr("&Windows"), with_problem(windows_, windows_problem_));
  form->addRow(tr("&Lengths (tokens)"), with_problem(lengths_, lengths_problem_));
  form->addRow(tr("D&ocuments an item"), with_problem(documents_, documents_problem_));
  form->addRow(tr("D&irection"), direction_);
  form->addRow(tr("&Device"), device_);

  // QFormLayout makes buddies of direct fields only.
  static_cast<QLabel*>(form->labelForField(contenders))->setBuddy(matrix_);
  static_cast<QLabel*>(form->labelForField(windows_->parentWidget()))->setBuddy(windows_);
  static_cast<QLabel*>(form->labelForField(lengths_->parentWidget()))->setBuddy(lengths_);
  static_cast<QLabel*>(form->labelForField(documents_->parentWidget()))->setBuddy(documents_);

  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel);
  buttons->addButton(start_, QDialogButtonBox::AcceptRole);
  start_->setDefault(true);
  buttons->button(QDialogButtonBox::Cancel)->setAutoDefault(false);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  connect(buttons, &QDialogButtonBox::accepted, this, [this] {
    if (!checked_.ok()) return;
    Q_EMIT start_asked(checked_.sweep_text);
    accept();
  });

  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(20, 20, 20, 16);
  layout->setSpacing(14);
  layout->addLayout(form, 1);  // the matrix takes what is left
  layout->addWidget(other_problem_);
  layout->addWidget(estimate_);
  layout->addWidget(buttons);
  resize(1060, 740);
}

void NewRunDialog::choose_preset(const QString& name) {
  const int index = preset_->findText(name);
  if (index >= 0) preset_->setCurrentIndex(index);
}

bool NewRunDialog::begin_with(const QString& sweep_text) {
  const std::string text = sweep_text.toStdString();
  const Result<Sweep> sweep = parse_sweep(text, "this sweep");
  if (!sweep) {
    say(other_problem_, words(sweep.error().message));
    return false;
  }
  preset_->setCurrentIndex(preset_->count() - 1);
  load({.name = sweep->name, .text = text});
  return true;
}

void NewRunDialog::set_implementations(const QList<ContenderMatrixModel::Named>& implementations,
                                       const QString& problem) {
  listed_ = true;
  matrix_model_.set_names(pattern_names(), implementations);
  say(implementations_problem_, problem);
}

void NewRunDialog::load(const NamedSweep& preset) {
  loading_ = true;
  base_text_ = preset.text;
  const SweepDraft draft = draft_of(preset);
  name_->setText(draft.name);
  matrix_model_.set_checked(draft.contenders);
  windows_->setText(draft.windows);
  lengths_->setText(draft.lengths);
  documents_->setText(draft.documents);
  direction_->setCurrentIndex(direction_->findData(draft.direction));
  device_->setCurrentText(draft.device);
  loading_ = false;
  check_fields();
}

void NewRunDialog::edited() {
  if (loading_) return;
  loading_ = true;
  const bool was_preset = preset_->currentIndex() < preset_->count() - 1;
  if (was_preset) {
    if (name_->text() == preset_->currentText()) name_->setText(tr("custom"));
    preset_->setCurrentIndex(preset_->count() - 1);
  }
  loading_ = false;
  check_fields();
}

SweepDraft NewRunDialog::draft() const {
  return {.base_text = base_text_,
          .name = name_->text().trimmed(),
          .contenders = matrix_model_.checked(),
          .windows = windows_->text().trimmed(),
          .lengths = lengths_->text().trimmed(),
          .documents = documents_->text().trimmed(),
          .direction = direction_->currentData().toString(),
          .device = device_->currentText()};
}

void NewRunDialog::check_fields() {
  checked_ = check(draft());
  say(contenders_problem_, checked_.contenders_problem);
  say(windows_problem_, checked_.windows_problem);
  say(lengths_problem_, checked_.lengths_problem);
  say(documents_problem_, checked_.documents_problem);
  say(other_problem_, checked_.other_problem);
  start_->setEnabled(checked_.ok());
  estimate_->setText(
      checked_.ok() ? tr("%1 heats, %2 cells; at most %3 of measuring, besides set-up and checks")
                          .arg(checked_.heats)
                          .arg(checked_.cells)
                          .arg(duration_words(checked_.longest_seconds))
                    : QString());
}

}  // namespace attnscope::gui
