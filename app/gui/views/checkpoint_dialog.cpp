// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/checkpoint_dialog.h"

#include <QDialogButtonBox>
#include <QFileDialog>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSettings>
#include <QToolButton>

#include "app/gui/session/text.h"
#include "app/gui/views/attention_source.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/file_dialogs.h"
#include "kernels/base/text_file.h"
#include "views/ui_checkpoint_dialog.h"

namespace attnscope::gui {
namespace {

const auto folder_key = QStringLiteral("attention/checkpoint/folder");
const auto query_key = QStringLiteral("attention/checkpoint/query");
const auto document_key = QStringLiteral("attention/checkpoint/document");
constexpr std::uintmax_t most_document_bytes = 4U << 20U;
constexpr int most_kept_letters = 20'000;  // of a document, in the settings

}  // namespace

CheckpointDialog::CheckpointDialog(QWidget* parent)
    : QDialog(parent), ui_(std::make_unique<Ui::CheckpointDialog>()) {
  ui_->setupUi(this);
  const QSettings settings;
  ui_->checkpoint_folder->setText(settings.value(folder_key).toString());
  ui_->checkpoint_query->setText(settings.value(query_key).toString());
  ui_->checkpoint_document->setPlainText(settings.value(document_key).toString());
  ui_->checkpoint_pattern->offer(&patterns_, tr("The checkpoint's own"));
  build();
  for (QLineEdit* line : {ui_->checkpoint_folder, ui_->checkpoint_query}) {
    connect(line, &QLineEdit::textChanged, this, &CheckpointDialog::changed);
  }
  connect(ui_->checkpoint_document, &QPlainTextEdit::textChanged, this, &CheckpointDialog::changed);
  connect(ui_->checkpoint_pattern, &PatternPicker::changed, this, &CheckpointDialog::changed);
  connect(ui_->checkpoint_pattern, &PatternPicker::file_failed, ui_->checkpoint_problem,
          &ProblemLabel::set_problem);
  connect(&inspection_, &CheckpointInspection::changed, this, &CheckpointDialog::busy_changed);
  connect(&inspection_, &CheckpointInspection::answered, this, [this] {
    if (!inspection_.problem().isEmpty()) return;
    Q_EMIT written(inspection_.file());
    accept();
  });
  connect(this, &QDialog::rejected, &inspection_, &CheckpointInspection::forget);
  changed();
}

CheckpointDialog::~CheckpointDialog() {
  inspection_.disconnect(this);
}

void CheckpointDialog::build() {
  ui_->checkpoint_folder->setMinimumWidth(48 * fontMetrics().averageCharWidth());
  ui_->checkpoint_document->setMinimumHeight(8 *
                                             ui_->checkpoint_document->fontMetrics().lineSpacing());
  ui_->buttons->button(QDialogButtonBox::Cancel)->setAutoDefault(false);
  compute_ = ui_->buttons->addButton(tr("&Compute"), QDialogButtonBox::ActionRole);
  compute_->setObjectName(QStringLiteral("compute"));
  compute_->setDefault(true);
  connect(compute_, &QPushButton::clicked, this, &CheckpointDialog::compute);
  connect(ui_->buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  connect(ui_->browse, &QToolButton::clicked, this, [this] {
    auto* dialog =
        new QFileDialog(this, tr("Folder of a checkpoint"), ui_->checkpoint_folder->text());
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::Directory);
    dialog->setOption(QFileDialog::ShowDirsOnly);
    connect(dialog, &QFileDialog::fileSelected, ui_->checkpoint_folder, &QLineEdit::setText);
    dialog->open();
  });
  connect(ui_->document_file, &QPushButton::clicked, this, [this] {
    ask_for_file(this, tr("Open a document"), tr("Texts (*.txt *.md *.html);;All files (*)"),
                 [this](const QString& name) { read_document(name); });
  });
}

void CheckpointDialog::read_document(const QString& file) {
  const Result<std::string> text =
      read_text_file(file.toStdString(), "document", most_document_bytes);
  if (!text) return ui_->checkpoint_problem->set_problem(words(text.error().message));
  ui_->checkpoint_document->setPlainText(QString::fromStdString(*text));
}

void CheckpointDialog::changed() {
  ui_->checkpoint_problem->set_problem({});
  compute_->setEnabled(!inspection_.is_asking() &&
                       !ui_->checkpoint_folder->text().trimmed().isEmpty() &&
                       !ui_->checkpoint_query->text().trimmed().isEmpty());
}

void CheckpointDialog::busy_changed() {
  const bool busy = inspection_.is_asking();
  ui_->checkpoint_progress->setVisible(busy);
  for (QWidget* input :
       std::initializer_list<QWidget*>{ui_->checkpoint_folder, ui_->checkpoint_query,
                                       ui_->checkpoint_document, ui_->checkpoint_pattern}) {
    input->setEnabled(!busy);
  }
  changed();
  ui_->checkpoint_problem->set_problem(inspection_.problem());
}

void CheckpointDialog::compute() {
  QSettings settings;
  settings.setValue(folder_key, ui_->checkpoint_folder->text());
  settings.setValue(query_key, ui_->checkpoint_query->text());
  settings.setValue(document_key, ui_->checkpoint_document->toPlainText().left(most_kept_letters));
  inspection_.compute({.folder = ui_->checkpoint_folder->text().trimmed(),
                       .query = ui_->checkpoint_query->text().simplified(),
                       .document = ui_->checkpoint_document->toPlainText(),
                       .attention = ui_->checkpoint_pattern->choice()});
}

}  // namespace attnscope::gui
