// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/training_dialog.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QLineEdit>
#include <QProcess>
#include <QProgressBar>
#include <QPushButton>
#include <QSettings>
#include <QSpinBox>

#include "app/gui/session/run_launcher.h"
#include "app/gui/session/text.h"
#include "app/gui/views/attention_source.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/file_dialogs.h"
#include "views/ui_training_dialog.h"

namespace attnscope::gui {
namespace {

const auto kept_key = QStringLiteral("training/new");
const auto pattern_key = QStringLiteral("training/pattern");

/// The option that receives a field's text; it is derived from the field's name.
QString option_of(const QWidget& field) {
  return QStringLiteral("--") + field.objectName().replace(QLatin1Char('_'), QLatin1Char('-'));
}

}  // namespace

TrainingDialog::TrainingDialog(RunLauncher* launcher, QWidget* parent)
    : QDialog(parent), launcher_(launcher), ui_(std::make_unique<Ui::TrainingDialog>()) {
  ui_->setupUi(this);
  ui_->pattern->offer(&patterns_, tr("The checkpoint's own"));
  explain_fields(*this);
  ui_->buttons->button(QDialogButtonBox::Cancel)->setAutoDefault(false);
  start_ = ui_->buttons->addButton(tr("&Start"), QDialogButtonBox::ActionRole);
  start_->setObjectName(QStringLiteral("start_training"));
  start_->setDefault(true);
  restore();
  connect(start_, &QPushButton::clicked, this, &TrainingDialog::start);
  connect(ui_->buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  for (const QLineEdit* line : findChildren<QLineEdit*>())
    connect(line, &QLineEdit::textChanged, this, &TrainingDialog::check);
  connect(ui_->pattern, &PatternPicker::file_failed, ui_->problem, &ProblemLabel::set_problem);
  connect(launcher_, &RunLauncher::training_begun, this, &QDialog::accept);
  connect(launcher_, &RunLauncher::training_refused, this, [this](const QString& sentence) {
    set_waiting(false);
    ui_->problem->set_problem(sentence);
  });
  check();
}

TrainingDialog::~TrainingDialog() = default;

void TrainingDialog::restore() {
  const QSettings settings;
  const QVariantMap kept = settings.value(kept_key).toMap();
  for (FileField* field : findChildren<FileField*>())
    field->set_text(kept.value(field->objectName()).toString());
  ui_->others->setText(kept.value(ui_->others->objectName()).toString());
  ui_->steps->setValue(kept.value(ui_->steps->objectName(), ui_->steps->value()).toInt());
  for (QComboBox* box : {ui_->objective, ui_->keep})
    box->setCurrentIndex(kept.value(box->objectName()).toInt());
  ui_->pattern->restore(settings.value(pattern_key).toMap());
}

void TrainingDialog::keep() const {
  QVariantMap kept{{ui_->others->objectName(), ui_->others->text()},
                   {ui_->steps->objectName(), ui_->steps->value()}};
  for (const FileField* field : findChildren<FileField*>())
    kept.insert(field->objectName(), field->text());
  for (const QComboBox* box : {ui_->objective, ui_->keep})
    kept.insert(box->objectName(), box->currentIndex());
  QSettings settings;
  settings.setValue(kept_key, kept);
  settings.setValue(pattern_key, ui_->pattern->chosen());
}

void TrainingDialog::check() {
  ui_->problem->set_problem({});
  bool is_whole = true;
  for (const FileField* needed : {ui_->checkpoint, ui_->triples, ui_->output})
    is_whole = is_whole && !needed->text().isEmpty();
  start_->setEnabled(is_whole && ui_->waiting->isHidden());
}

QStringList TrainingDialog::arguments() const {
  static const QStringList objectives{QStringLiteral("--margin-mse"), QStringLiteral("--ranknet"),
                                      QStringLiteral("--localized-ce")};
  static const QStringList kept{{}, QStringLiteral("--keep=best"), QStringLiteral("--keep=last")};
  QStringList all{objectives[ui_->objective->currentIndex()],
                  QStringLiteral("--steps=%1").arg(ui_->steps->value()),
                  kept[ui_->keep->currentIndex()]};
  all.removeAll({});
  for (const FileField* field : findChildren<FileField*>()) {
    if (!field->text().isEmpty()) all.append(option_of(*field) + QLatin1Char('=') + field->text());
  }
  if (const auto choice = ui_->pattern->choice(); choice && choice->window)
    all.append(QStringLiteral("--window=") + words(choice->window->text()));
  return all + QProcess::splitCommand(ui_->others->text());
}

void TrainingDialog::start() {
  keep();
  set_waiting(true);
  const auto choice = ui_->pattern->choice();
  launcher_->train(arguments(), choice ? pattern_json(choice->pattern) : std::string(),
                   ui_->output->text());
}

void TrainingDialog::set_waiting(bool waiting) {
  ui_->waiting->setVisible(waiting);
  ui_->fields->setEnabled(!waiting);
  check();
}

}  // namespace attnscope::gui
