// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/pattern_item_box.h"

#include <QComboBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSpinBox>
#include <QVBoxLayout>
#include <algorithm>

#include "app/gui/charts/mask_problem.h"
#include "app/gui/models/number_list.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/problem_label.h"

namespace attnscope::gui {
namespace {

constexpr std::size_t most_listed = 1000;  // sentence starts that a list begins with

QLineEdit* text_box(const QString& name, const QString& tip, const char* object) {
  auto* box = new QLineEdit;
  box->setAccessibleName(name);
  box->setToolTip(tip);
  box->setObjectName(QLatin1String(object));
  return box;
}

bool all_alike(const std::vector<std::int64_t>& lengths) {
  return std::ranges::all_of(lengths, [&](std::int64_t length) { return length == lengths[0]; });
}

void set_quietly(QLineEdit* box, const QString& text) {
  if (box->hasFocus() && box->isModified()) return;  // somebody is typing
  const QSignalBlocker quiet(box);
  if (box->text() != text) box->setText(text);
}

}  // namespace

PatternItemBox::PatternItemBox(PatternEditor& editor, QWidget* parent)
    : QWidget(parent),
      editor_(editor),
      query_(number_box(0, most_tokens, tr("Query tokens with their [SEP]"), "query_tokens")),
      document_(number_box(0, most_tokens, tr("Tokens of each document with its [SEP]"),
                           "document_tokens")),
      count_(number_box(1, most_documents, tr("Documents beside one query: more are list-wise"),
                        "document_count")),
      heads_(number_box(1, 512, tr("Attention heads"), "heads")),
      head_dim_(number_box(1, 1024, tr("Dimension of one head"), "head_dim")),
      lengths_(text_box(tr("Lengths of the documents"),
                        tr("Documents of unlike lengths, as in 300, 200, 4x100 (Enter)"),
                        "document_lengths")),
      documents_problem_(new ProblemLabel("documents_problem")),
      sentences_label_(new QLabel(tr("Sentence s&tarts"))),
      sentences_(new QComboBox),
      stride_(number_box(1, most_tokens, tr("Every so many document tokens a sentence starts"),
                         "sentence_stride")),
      starts_(text_box(tr("Sentence starts"),
                       tr("Offsets into the documents, ascending, as in 0, 30, 60 (Enter)"),
                       "sentence_starts")),
      sentences_problem_(new ProblemLabel("sentences_problem")) {
  build();
  wire();
  refresh();
}

void PatternItemBox::build() {
  query_->setAccessibleName(tr("Query tokens"));
  document_->setAccessibleName(tr("Document tokens"));
  count_->setAccessibleName(tr("Documents"));
  stride_->setAccessibleName(tr("Tokens from one sentence start to the next"));
  stride_->setSuffix(tr(" tokens"));
  lengths_->setPlaceholderText(tr("all alike"));
  sentences_->setObjectName(QStringLiteral("sentences"));
  sentences_->setAccessibleName(tr("Sentence starts"));
  sentences_->setToolTip(tr("Where the documents' global tokens lie"));
  sentences_->addItem(tr("none"));
  sentences_->addItem(tr("every"));
  sentences_->addItem(tr("listed"));
  sentences_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  sentences_label_->setBuddy(sentences_);
  const auto new_form = [] {
    auto* form = new QFormLayout;
    form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    form->setRowWrapPolicy(QFormLayout::WrapLongRows);
    return form;
  };
  QFormLayout* lengths = new_form();
  lengths->addRow(tr("&Query tokens"), query_);
  lengths->addRow(tr("&Document tokens"), document_);
  lengths->addRow(tr("Docume&nts"), count_);
  lengths->addRow(tr("&Lengths"), lengths_);
  heads_->setValue(12);
  head_dim_->setValue(32);
  QFormLayout* heads = new_form();
  heads->addRow(tr("Heads"), heads_);
  heads->addRow(tr("Head dimension"), head_dim_);
  QFormLayout* sentences = new_form();
  sentences->addRow(sentences_label_, sentences_);
  sentences->addRow(stride_);
  sentences->addRow(starts_);
  // A form leaves no room for a sentence that wraps.
  auto* layout = new QVBoxLayout(this);
  layout->addLayout(lengths);
  layout->addWidget(documents_problem_);
  layout->addLayout(sentences);
  layout->addWidget(sentences_problem_);
  layout->addLayout(heads);
}

void PatternItemBox::wire() {
  connect(&editor_, &PatternEditor::changed, this, &PatternItemBox::refresh);
  connect(query_, &QSpinBox::valueChanged, this, [this](int tokens) { editor_.set_query(tokens); });
  const auto set_documents = [this] {
    editor_.set_documents(
        std::vector<std::int64_t>(static_cast<std::size_t>(count_->value()), document_->value()));
  };
  connect(document_, &QSpinBox::valueChanged, this, set_documents);
  connect(count_, &QSpinBox::valueChanged, this, set_documents);
  connect(stride_, &QSpinBox::valueChanged, this,
          [this](int tokens) { editor_.set_sentences_every(tokens); });
  for (QSpinBox* box : {query_, document_, count_, stride_}) {
    connect(box, &QSpinBox::editingFinished, this, [this] { editor_.end_gesture(); });
  }
  for (QSpinBox* box : {heads_, head_dim_}) {
    connect(box, &QSpinBox::valueChanged, this, &PatternItemBox::heads_changed);
  }
  connect(lengths_, &QLineEdit::editingFinished, this, &PatternItemBox::documents_typed);
  connect(starts_, &QLineEdit::editingFinished, this, &PatternItemBox::starts_typed);
  connect(sentences_, &QComboBox::activated, this, &PatternItemBox::sentences_chosen);
}

int PatternItemBox::heads() const {
  return heads_->value();
}

int PatternItemBox::head_dim() const {
  return head_dim_->value();
}

void PatternItemBox::refresh() {
  set_quietly(query_, editor_.item().query);
  refresh_documents();
  refresh_sentences();
  std::int64_t tokens = editor_.item().cls + editor_.item().query;
  for (const std::int64_t length : editor_.item().documents) tokens += length;
  const bool too_many = tokens > charts::MaskProblem::largest;
  const Result<SequenceLayout> layout = SequenceLayout::make({editor_.item()});
  const bool starts_are_wrong =
      !layout && editor_.item().sentences_given && editor_.pattern().has_sentences();
  if (!lengths_->isModified()) {
    documents_problem_->set_problem(
        too_many ? tr("A mask shows at most 1,000,000 tokens, and these are %L1.").arg(tokens)
        : !layout && !starts_are_wrong ? words(layout.error().message)
                                       : QString());
  }
  if (!starts_->isModified()) {
    sentences_problem_->set_problem(starts_are_wrong ? words(layout.error().message) : QString());
  }
}

void PatternItemBox::refresh_documents() {
  const std::vector<std::int64_t>& lengths = editor_.item().documents;
  const bool alike = !lengths.empty() && all_alike(lengths);
  set_quietly(count_, static_cast<std::int64_t>(lengths.size()));
  if (alike) set_quietly(document_, lengths[0]);
  for (QSpinBox* box : {document_, count_}) box->setEnabled(alike);
  set_quietly(lengths_, alike ? QString() : lengths_text(lengths));
}

void PatternItemBox::refresh_sentences() {
  const bool take_part = editor_.pattern().has_sentences();
  const PatternEditor::Sentences mode = editor_.sentences();
  const bool by_stride = take_part && mode == PatternEditor::Sentences::every;
  const bool listed = take_part && mode == PatternEditor::Sentences::listed;
  sentences_label_->setVisible(take_part);
  sentences_->setVisible(take_part);
  stride_->setVisible(by_stride);
  starts_->setVisible(listed);
  sentences_->setCurrentIndex(static_cast<int>(mode));
  if (editor_.pattern().sentence_every) set_quietly(stride_, *editor_.pattern().sentence_every);
  if (listed) set_quietly(starts_, offsets_text(editor_.item().sentences));
}

void PatternItemBox::documents_typed() {
  if (!lengths_->isModified()) return;
  if (lengths_->text().trimmed().isEmpty()) {
    lengths_->setModified(false);
    editor_.end_gesture();
    editor_.set_documents(
        std::vector<std::int64_t>(static_cast<std::size_t>(count_->value()), document_->value()));
    return refresh();
  }
  const auto lengths = parse_lengths(lengths_->text());
  if (!lengths) return documents_problem_->set_problem(words(lengths.error().message));
  lengths_->setModified(false);
  editor_.end_gesture();
  editor_.set_documents(*lengths);
  refresh();
}

std::vector<std::int64_t> PatternItemBox::starts_by_stride() const {
  std::vector<std::int64_t> starts;
  std::int64_t begin = 0;
  for (const std::int64_t length : editor_.item().documents) {
    for (std::int64_t at = 0; at < length && starts.size() < most_listed; at += stride_->value()) {
      starts.push_back(begin + at);
    }
    begin += length;
  }
  return starts;
}

void PatternItemBox::sentences_chosen() {
  editor_.end_gesture();
  starts_->setModified(false);
  switch (static_cast<PatternEditor::Sentences>(sentences_->currentIndex())) {
    case PatternEditor::Sentences::none:
      return editor_.set_no_sentences();
    case PatternEditor::Sentences::every:
      return editor_.set_sentences_every(stride_->value());
    case PatternEditor::Sentences::listed:
      break;
  }
  const std::vector<std::int64_t> starts = starts_by_stride();
  editor_.set_sentences(starts);
  refresh();  // without any token there is no start, and the choice is "none" again
}

void PatternItemBox::starts_typed() {
  if (!starts_->isModified()) return;
  const auto starts = parse_offsets(starts_->text());
  if (!starts) return sentences_problem_->set_problem(words(starts.error().message));
  starts_->setModified(false);
  editor_.end_gesture();
  editor_.set_sentences(*starts);
  refresh();
}

}  // namespace attnscope::gui
