// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/checkpoint_dialog.h"

#include <QDialogButtonBox>
#include <QFileDialog>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSettings>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/gui/session/text.h"
#include "app/gui/views/attention_source.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/file_dialogs.h"
#include "kernels/base/text_file.h"

namespace attnscope::gui {
namespace {

const auto folder_key = QStringLiteral("attention/checkpoint/folder");
const auto query_key = QStringLiteral("attention/checkpoint/query");
const auto document_key = QStringLiteral("attention/checkpoint/document");
constexpr std::uintmax_t most_document_bytes = 4U << 20U;
constexpr int most_kept_letters = 20'000;  // of a document, in the settings

}  // namespace

CheckpointDialog::CheckpointDialog(QWidget* parent)
    : QDialog(parent),
      folder_(new QLineEdit),
      query_(new QLineEdit),
      document_(new QPlainTextEdit),
      pattern_(new PatternPicker(&patterns_, tr("The checkpoint's own"), tr("Pattern"))),
      progress_(new QProgressBar),
      problem_(new ProblemLabel(this, "checkpoint_problem")),
      compute_(new QPushButton(tr("&Compute"))) {
  setWindowTitle(tr("Open a checkpoint"));
  const QSettings settings;
  folder_->setText(settings.value(folder_key).toString());
  query_->setText(settings.value(query_key).toString());
  document_->setPlainText(settings.value(document_key).toString());
  build();
  for (QLineEdit* line : {folder_, query_}) {
    connect(line, &QLineEdit::textChanged, this, &CheckpointDialog::changed);
  }
  connect(document_, &QPlainTextEdit::textChanged, this, &CheckpointDialog::changed);
  connect(pattern_, &PatternPicker::changed, this, &CheckpointDialog::changed);
  connect(pattern_, &PatternPicker::file_failed, problem_, &ProblemLabel::set_problem);
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

QWidget* CheckpointDialog::folder_row() {
  folder_->setPlaceholderText(tr("with config.json, model.safetensors and its tokenizer"));
  folder_->setMinimumWidth(48 * fontMetrics().averageCharWidth());
  auto* browse = new QToolButton;
  browse->setText(tr("…"));
  browse->setAccessibleName(tr("Choose a folder"));
  browse->setToolTip(tr("Choose a folder"));
  connect(browse, &QToolButton::clicked, this, [this] {
    auto* dialog = new QFileDialog(this, tr("Folder of a checkpoint"), folder_->text());
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::Directory);
    dialog->setOption(QFileDialog::ShowDirsOnly);
    connect(dialog, &QFileDialog::fileSelected, folder_, &QLineEdit::setText);
    dialog->open();
  });
  auto* row = new QWidget;
  auto* layout = new QHBoxLayout(row);
  layout->addWidget(folder_, 1);
  layout->addWidget(browse);
  row->setFocusProxy(folder_);
  return row;
}

QWidget* CheckpointDialog::document_box() {
  document_->setPlaceholderText(tr("The document's text; its end is cut off where it is too long"));
  document_->setTabChangesFocus(true);
  document_->setMinimumHeight(8 * document_->fontMetrics().lineSpacing());
  auto* file = new QPushButton(tr("From a &file…"));
  file->setObjectName(QStringLiteral("document_file"));
  file->setAutoDefault(false);
  connect(file, &QPushButton::clicked, this, [this] {
    ask_for_file(this, tr("Open a document"), tr("Texts (*.txt *.md *.html);;All files (*)"),
                 [this](const QString& name) { read_document(name); });
  });
  auto* box = new QWidget;
  auto* layout = new QVBoxLayout(box);
  layout->addWidget(document_, 1);
  layout->addWidget(file, 0, Qt::AlignLeft);
  box->setFocusProxy(document_);
  return box;
}

void CheckpointDialog::build() {
  const auto name = [](QWidget* field, const char* object, const QString& spoken) {
    field->setObjectName(QLatin1String(object));
    field->setAccessibleName(spoken);
  };
  name(folder_, "checkpoint_folder", tr("Folder of the checkpoint"));
  name(query_, "checkpoint_query", tr("Query"));
  name(document_, "checkpoint_document", tr("Document"));
  name(progress_, "checkpoint_progress", tr("The model computes"));
  compute_->setObjectName(QStringLiteral("compute"));
  query_->setPlaceholderText(tr("how tall is the tower"));
  progress_->setRange(0, 0);
  progress_->setTextVisible(false);
  progress_->hide();
  auto* form = new QFormLayout;
  form->addRow(tr("F&older"), folder_row());
  form->addRow(tr("&Query"), query_);
  form->addRow(tr("&Document"), document_box());
  form->addRow(tr("&Pattern"), pattern_);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel);
  buttons->button(QDialogButtonBox::Cancel)->setAutoDefault(false);
  buttons->addButton(compute_, QDialogButtonBox::ActionRole);
  compute_->setDefault(true);
  connect(compute_, &QPushButton::clicked, this, &CheckpointDialog::compute);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  auto* layout = new QVBoxLayout(this);
  layout->addLayout(form, 1);
  layout->addWidget(problem_);
  layout->addWidget(progress_);
  layout->addWidget(buttons);
}

void CheckpointDialog::read_document(const QString& file) {
  const Result<std::string> text =
      read_text_file(file.toStdString(), "document", most_document_bytes);
  if (!text) return problem_->set_problem(words(text.error().message));
  document_->setPlainText(QString::fromStdString(*text));
}

void CheckpointDialog::changed() {
  problem_->set_problem({});
  compute_->setEnabled(!inspection_.is_asking() && !folder_->text().trimmed().isEmpty() &&
                       !query_->text().trimmed().isEmpty());
}

void CheckpointDialog::busy_changed() {
  const bool busy = inspection_.is_asking();
  progress_->setVisible(busy);
  for (QWidget* input : std::initializer_list<QWidget*>{folder_, query_, document_, pattern_}) {
    input->setEnabled(!busy);
  }
  changed();
  problem_->set_problem(inspection_.problem());
}

void CheckpointDialog::compute() {
  QSettings settings;
  settings.setValue(folder_key, folder_->text());
  settings.setValue(query_key, query_->text());
  settings.setValue(document_key, document_->toPlainText().left(most_kept_letters));
  inspection_.compute({.folder = folder_->text().trimmed(),
                       .query = query_->text().simplified(),
                       .document = document_->toPlainText(),
                       .attention = pattern_->choice()});
}

}  // namespace attnscope::gui
