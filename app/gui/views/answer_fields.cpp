// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/answer_fields.h"

#include <QComboBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSettings>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/kept.h"
#include "app/gui/views/problem_label.h"

namespace attnscope::gui {
namespace {

constexpr double bytes_per_mb = 1e6;
constexpr double ns_per_ms = 1e6;

QString setting_of(const QLineEdit* edit) {
  return QStringLiteral("answer/") + edit->objectName();
}

/// Shows what is wrong; whether nothing is.
template <typename T>
bool take(const Result<T>& parsed, ProblemLabel* problem) {
  problem->set_problem(parsed ? QString() : words(parsed.error().message));
  return parsed.has_value();
}

}  // namespace

AnswerFields::AnswerFields(QWidget* parent)
    : QWidget(parent),
      form_(new QFormLayout(this)),
      file_(new QToolButton),
      of_(picker(QStringLiteral("lengths_of"), tr("What the lengths are of"),
                 tr("The charts show lengths of whole sequences"))) {
  file_->setObjectName(QStringLiteral("lengths_file"));
  file_->setText(tr("File…"));
  file_->setAccessibleName(tr("Choose a file of document lengths"));
  file_->setToolTip(
      tr("Take the lengths from a file, one whole number a line: a sample of the collection"));
  file_->setFocusPolicy(Qt::StrongFocus);
  connect(file_, &QToolButton::clicked, this, &AnswerFields::file_wanted);
  query_ = add_field("query_tokens", tr("Query"), tr("Query tokens"),
                     tr("The query's tokens without its [SEP]; empty: as measured"), 13);
  documents_ = add_field("document_tokens", tr("Lengths"), tr("Lengths in tokens"),
                         tr("A length, several as in 300, 200, 4x100, or a file with one a line"),
                         18, {}, file_);
  of_->addItems({tr("of documents, without [SEP]"), tr("of whole sequences, with the query")});
  keep_choice(*of_);
  connect(of_, &QComboBox::activated, this, [this] {
    check();
    Q_EMIT changed();
  });
  form_->addRow({}, of_);
  candidates_ =
      add_field("candidates", tr("Candidates"), tr("Candidates"), tr("Documents of one query"), 6);
  memory_ = add_field("memory_mb", tr("Memory ≤"), tr("Memory limit in MB"),
                      tr("Memory limit: what is computed at a time must fit; 1 MB is 10^6 bytes; "
                         "empty: no limit"),
                      8, tr("MB"));
  latency_ =
      add_field("latency_ms", tr("Time ≤"), tr("Latency limit in ms"),
                tr("Latency limit for all candidates of a query; empty: no limit"), 8, tr("ms"));
  // A long list is read from its beginning.
  connect(documents_.edit, &QLineEdit::editingFinished, documents_.edit,
          [edit = documents_.edit] { edit->home(false); });
  query_.edit->setPlaceholderText(tr("as measured"));
  for (const Field& limit : {memory_, latency_}) limit.edit->setPlaceholderText(tr("no limit"));
  const QSettings settings;
  const std::pair<Field, const char*> defaults[] = {
      {query_, ""}, {documents_, "512"}, {candidates_, "100"}, {memory_, ""}, {latency_, ""}};
  for (const auto& [field, value] : defaults) {
    field.edit->setText(settings.value(setting_of(field.edit), QLatin1String(value)).toString());
    connect(field.edit, &QLineEdit::textChanged, this, [this, edit = field.edit] {
      QSettings().setValue(setting_of(edit), edit->text());
      check();
      Q_EMIT changed();
    });
  }
  check();
}

AnswerFields::Field AnswerFields::add_field(const char* name, const QString& label,
                                            const QString& full_name, const QString& tip,
                                            int characters, const QString& unit, QWidget* button) {
  Field field{new QLineEdit, new ProblemLabel(name)};
  field.problem->setObjectName(QLatin1String(name) + QStringLiteral("_problem"));
  field.edit->setObjectName(QLatin1String(name));
  field.edit->setAccessibleName(full_name);
  field.edit->setAccessibleDescription(tip);
  field.edit->setToolTip(tip);
  field.edit->setMinimumWidth(characters * fontMetrics().averageCharWidth() + 8);
  auto* line = new QHBoxLayout;
  line->addWidget(field.edit, 1);
  if (!unit.isEmpty()) line->addWidget(new QLabel(unit));
  if (button != nullptr) line->addWidget(button);
  form_->addRow(label, line);
  form_->addRow(field.problem);
  return field;
}

QString AnswerFields::problem() const {
  for (const Field& field : {query_, documents_, candidates_, memory_, latency_}) {
    if (!field.problem->isHidden()) return field.problem->text();
  }
  return {};
}

void AnswerFields::check() {
  const auto query = parse_query_tokens(query_.edit->text());
  const auto documents = parse_documents(documents_.edit->text());
  const auto candidates = parse_candidates(candidates_.edit->text());
  const auto memory = parse_limit(memory_.edit->text(), "500 for 500 MB");
  const auto latency = parse_limit(latency_.edit->text(), "200 for 200 ms");
  bool is_whole = take(query, query_.problem);
  is_whole = take(documents, documents_.problem) && is_whole;
  is_whole = take(candidates, candidates_.problem) && is_whole;
  is_whole = take(memory, memory_.problem) && is_whole;
  is_whole = take(latency, latency_.problem) && is_whole;
  asked_.reset();
  if (!is_whole) return;
  asked_.emplace();
  asked_->question.query_tokens = *query;
  asked_->question.of_sequences = of_->currentIndex() == 1;
  asked_->question.candidates = *candidates;
  if (*memory) asked_->question.memory_bytes = **memory * bytes_per_mb;
  if (*latency) asked_->question.latency_ns = **latency * ns_per_ms;
  if (const auto* lengths = std::get_if<report::DocumentLengths>(&*documents)) {
    asked_->question.documents = *lengths;
  } else {
    asked_->lengths_file = std::get<QString>(*documents);
  }
}

void AnswerFields::set_file_problem(const QString& sentence) {
  if (asked_ && !asked_->lengths_file.isEmpty()) documents_.problem->set_problem(sentence);
}

}  // namespace attnscope::gui
