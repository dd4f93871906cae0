// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/checkpoint_dialog.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QFileInfo>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSettings>

#include "app/gui/session/text.h"
#include "app/gui/views/attention_source.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/file_dialogs.h"
#include "base/open_file.h"
#include "engine/report/effectiveness.h"
#include "views/ui_checkpoint_dialog.h"

namespace attnscope::gui {
namespace {

const auto query_key = QStringLiteral("attention/checkpoint/query");
const auto document_key = QStringLiteral("attention/checkpoint/document");
const auto comparison_key = QStringLiteral("attention/checkpoint/comparison");
const auto pair_key = QStringLiteral("attention/checkpoint/pair");
const auto side_by_side_key = QStringLiteral("attention/checkpoint/beside");
constexpr std::uintmax_t most_document_bytes = 4U << 20U;
constexpr std::uintmax_t most_comparison_bytes = 256U << 20U;
constexpr int most_kept_letters = 20'000;  // of a document, in the settings

}  // namespace

CheckpointDialog::CheckpointDialog(QWidget* parent)
    : QDialog(parent), ui_(std::make_unique<Ui::CheckpointDialog>()) {
  ui_->setupUi(this);
  const QSettings settings;
  ui_->checkpoint_folder->set_text(settings.value(checkpoint_folder_key).toString());
  ui_->checkpoint_query->setText(settings.value(query_key).toString());
  ui_->checkpoint_document->setPlainText(settings.value(document_key).toString());
  ui_->checkpoint_pattern->offer(&patterns_, tr("The checkpoint's own"));
  ui_->checkpoint_compared->offer(&patterns_, tr("None"));
  ui_->checkpoint_compared->restore(settings.value(side_by_side_key).toMap());
  build();
  // The last comparison, if it still exists; the texts stay those that were last used.
  if (const QString file = settings.value(comparison_key).toString(); QFileInfo::exists(file)) {
    if (read_comparison(file))
      ui_->checkpoint_pair->setCurrentIndex(settings.value(pair_key).toInt());
  }
  for (QLineEdit* line : {ui_->checkpoint_folder->line(), ui_->checkpoint_query}) {
    connect(line, &QLineEdit::textChanged, this, &CheckpointDialog::changed);
  }
  connect(ui_->checkpoint_document, &QPlainTextEdit::textChanged, this, &CheckpointDialog::changed);
  connect(ui_->checkpoint_pattern, &PatternPicker::changed, this, &CheckpointDialog::changed);
  connect(ui_->checkpoint_pattern, &PatternPicker::file_failed, ui_->checkpoint_problem,
          &ProblemLabel::set_problem);
  connect(&inspection_, &CheckpointInspection::changed, this, &CheckpointDialog::busy_changed);
  connect(&inspection_, &CheckpointInspection::answered, this, [this] {
    if (!inspection_.problem().isEmpty()) return;
    Q_EMIT written(inspection_.file(), ui_->checkpoint_compared->chosen());
    accept();
  });
  connect(this, &QDialog::rejected, &inspection_, &CheckpointInspection::cancel);
  changed();
}

CheckpointDialog::~CheckpointDialog() {
  inspection_.disconnect(this);
}

void CheckpointDialog::build() {
  ui_->checkpoint_document->setMinimumHeight(8 *
                                             ui_->checkpoint_document->fontMetrics().lineSpacing());
  ui_->buttons->button(QDialogButtonBox::Cancel)->setAutoDefault(false);
  compute_ = ui_->buttons->addButton(tr("&Compute"), QDialogButtonBox::ActionRole);
  compute_->setObjectName(QStringLiteral("compute"));
  compute_->setDefault(true);
  connect(compute_, &QPushButton::clicked, this, &CheckpointDialog::compute);
  connect(ui_->buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  connect(ui_->checkpoint_pair, &QComboBox::activated, this, &CheckpointDialog::take_pair);
  connect(ui_->comparison, &QPushButton::clicked, this, [this] {
    ask_for_file(this, tr("Open a comparison"), tr("Comparisons (*.json)"),
                 [this](const QString& name) { open_comparison(name); });
  });
  connect(ui_->document_file, &QPushButton::clicked, this, [this] {
    ask_for_file(this, tr("Open a document"), tr("Texts (*.txt *.md *.html);;All files (*)"),
                 [this](const QString& name) { read_document(name); });
  });
}

Status CheckpointDialog::read_comparison(const QString& file) {
  const auto text = read_text_file(file.toStdString(), "comparison", most_comparison_bytes);
  if (!text) return tl::unexpected(text.error());
  auto compared = report::parse_differences(*text, file.toStdString());
  if (!compared) return tl::unexpected(compared.error());
  std::vector<std::pair<std::string, std::string>> pairs;
  QStringList entries;
  for (const report::RankingDifference& difference : *compared) {
    for (const report::MovedDocument& moved : difference.moved) {
      if (difference.text.empty() || moved.text.empty()) continue;
      pairs.emplace_back(difference.text, moved.text);
      entries.append(tr("%1: query %2, document %3, rank %4")
                         .arg(qstring(difference.run), qstring(difference.query), qstring(moved.id),
                              qstring(report::ranks_in_words(moved))));
    }
  }
  if (pairs.empty()) {
    return fail(
        "{}: has no texts; write it with evaluate --differences --queries FILE --documents FILE "
        "--format json",
        file.toStdString());
  }
  pairs_ = std::move(pairs);
  ui_->checkpoint_pair->clear();
  ui_->checkpoint_pair->addItems(entries);
  ui_->checkpoint_pair->setCurrentIndex(0);  // with a placeholder, none is selected automatically
  ui_->checkpoint_pair->setEnabled(true);
  return {};
}

void CheckpointDialog::open_comparison(const QString& file) {
  if (const Status read = read_comparison(file); !read)
    return ui_->checkpoint_problem->set_problem(qstring(read.error().message));
  QSettings().setValue(comparison_key, file);
  take_pair(0);
}

void CheckpointDialog::take_pair(int at) {
  const auto& [query, document] = pairs_.at(static_cast<std::size_t>(at));
  ui_->checkpoint_query->setText(qstring(query));
  ui_->checkpoint_document->setPlainText(qstring(document));
}

void CheckpointDialog::read_document(const QString& file) {
  const Result<std::string> text =
      read_text_file(file.toStdString(), "document", most_document_bytes);
  if (!text) return ui_->checkpoint_problem->set_problem(qstring(text.error().message));
  ui_->checkpoint_document->setPlainText(QString::fromStdString(*text));
}

void CheckpointDialog::changed() {
  ui_->checkpoint_problem->set_problem({});
  compute_->setEnabled(!inspection_.is_pending() && !ui_->checkpoint_folder->text().isEmpty() &&
                       !ui_->checkpoint_query->text().trimmed().isEmpty());
}

void CheckpointDialog::busy_changed() {
  const bool busy = inspection_.is_pending();
  ui_->checkpoint_progress->setVisible(busy);
  for (QWidget* input : std::initializer_list<QWidget*>{
           ui_->checkpoint_folder, ui_->checkpoint_query, ui_->checkpoint_document,
           ui_->checkpoint_pattern, ui_->checkpoint_compared}) {
    input->setEnabled(!busy);
  }
  changed();
  ui_->checkpoint_problem->set_problem(inspection_.problem());
}

void CheckpointDialog::compute() {
  QSettings settings;
  settings.setValue(checkpoint_folder_key, ui_->checkpoint_folder->text());
  settings.setValue(pair_key, ui_->checkpoint_pair->currentIndex());
  settings.setValue(side_by_side_key, ui_->checkpoint_compared->chosen());
  settings.setValue(query_key, ui_->checkpoint_query->text());
  settings.setValue(document_key, ui_->checkpoint_document->toPlainText().left(most_kept_letters));
  inspection_.compute({.folder = ui_->checkpoint_folder->text(),
                       .query = ui_->checkpoint_query->text().simplified(),
                       .document = ui_->checkpoint_document->toPlainText(),
                       .attention = ui_->checkpoint_pattern->choice()});
}

}  // namespace attnscope::gui
