// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/answer_fields.h"

#include <QComboBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSettings>
#include <QSignalBlocker>
#include <QToolButton>
#include <QUrl>
#include <algorithm>
#include <cmath>
#include <utility>

#include "app/gui/models/number_list.h"
#include "app/gui/models/terms.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "engine/report/conditions.h"
#include "kernels/base/sentences.h"

namespace attnscope::gui {

/// Of a row of the form; `name` is the widgets' and the setting's too.
struct QuestionField {
  const char* name;
  QString label, full_name, tip;
  int characters;
  QString unit;
  const char* at_first;
  QString when_empty;
  std::function<Status(const QString& text, AskedQuestion& into)> read;
};

namespace {

constexpr std::size_t lengths_field = 1;  // of those in the form
constexpr std::int64_t most_candidates = 1'000'000'000;
constexpr double largest_limit = 1e12;
constexpr double bytes_per_mb = 1e6, ns_per_ms = 1e6;

std::string quoted(const QString& text) {
  return in_a_sentence(text.toStdString());
}

/// What was meant as numbers, right or wrong.
bool is_of_numbers(const QString& text) {
  return std::all_of(text.begin(), text.end(), [](QChar letter) {
    return letter.isDigit() || letter.isSpace() || QStringLiteral(",;.+-xX").contains(letter);
  });
}

/// Lengths, or the file that they are to be read from: what is not made of digits, separators and
/// "x" alone.
Status read_documents(const QString& text, AskedQuestion& into) {
  if (text.isEmpty()) {
    return fail("Give a length, as in 512, several, as in 300, 200, 4x100, or a file of them.");
  }
  if (!is_of_numbers(text)) {
    const QUrl url(text);  // a file that was dropped here
    into.lengths_file = url.isLocalFile() ? url.toLocalFile() : text;
    return {};
  }
  Result<std::vector<std::int64_t>> lengths = parse_lengths(text);
  if (!lengths) return tl::unexpected(lengths.error());
  if (std::ranges::any_of(*lengths, [](std::int64_t tokens) { return tokens < 1; })) {
    return fail("A document has at least one token; leave the 0 out.");
  }
  into.question.documents = report::DocumentLengths(std::move(*lengths));
  return {};
}

Status read_query_tokens(const QString& text, AskedQuestion& into) {
  if (text.isEmpty()) return {};
  bool is_number = false;
  const qlonglong tokens = text.toLongLong(&is_number);
  if (!is_number || tokens < 0 || tokens > report::longest_document) {
    return fail("\"{}\" is no number of tokens; write one from 0 to {}, or nothing.", quoted(text),
                report::longest_document);
  }
  into.question.query_tokens = tokens;
  return {};
}

Status read_candidates(const QString& text, AskedQuestion& into) {
  bool is_number = false;
  const qlonglong count = text.toLongLong(&is_number);
  if (!is_number || count < 1 || count > most_candidates) {
    return fail("\"{}\" is no number of documents; write one from 1 to {}.", quoted(text),
                most_candidates);
  }
  into.question.candidates = count;
  return {};
}

/// Into that part of the question, times `unit`; empty: no limit. `example` shows what to write.
auto limit_reader(std::optional<double> report::Question::*part, double unit, const char* example) {
  return [part, unit, example](const QString& text, AskedQuestion& into) -> Status {
    if (text.isEmpty()) return {};
    bool is_number = false;
    const double limit = text.toDouble(&is_number);
    if (!is_number || !std::isfinite(limit) || limit <= 0 || limit > largest_limit) {
      return fail("\"{}\" is no limit; write a number above 0, as in {}, or nothing.", quoted(text),
                  example);
    }
    into.question.*part = limit * unit;
    return {};
  };
}

QString setting_of(const QLineEdit* edit) {
  return QStringLiteral("answer/") + edit->objectName();
}

}  // namespace

AnswerFields::AnswerFields(QWidget* parent)
    : QWidget(parent),
      form_(new QFormLayout(this)),
      of_(picker(QStringLiteral("lengths_of"), tr("What the lengths are of"),
                 tr("The charts show lengths of whole sequences"))) {
  auto* file = new QToolButton;
  file->setObjectName(QStringLiteral("lengths_file"));
  file->setText(tr("File…"));
  file->setAccessibleName(tr("Choose a file of document lengths"));
  file->setToolTip(
      tr("Take the lengths from a file, one whole number a line: a sample of the collection"));
  file->setFocusPolicy(Qt::StrongFocus);
  connect(file, &QToolButton::clicked, this, &AnswerFields::file_wanted);
  add_field({"query_tokens",
             tr("Query"),
             tr("Query tokens"),
             tr("The query's tokens without its [SEP]; empty: as measured"),
             13,
             {},
             "",
             tr("as measured"),
             read_query_tokens});
  add_field({"document_tokens",
             tr("Lengths"),
             tr("Lengths in tokens"),
             tr("A length, several as in 300, 200, 4x100, or a file with one a line"),
             18,
             {},
             "512",
             {},
             read_documents},
            file);
  add_what_lengths_are_of();
  add_field({"candidates",
             tr("Candidates"),
             tr("Candidates"),
             explained("candidates"),
             6,
             {},
             "100",
             {},
             read_candidates});
  add_field({"memory_mb", tr("Memory ≤"), tr("Memory limit in MB"),
             tr("Memory limit: what is computed at a time must fit; 1 MB is 10^6 bytes; empty: no "
                "limit"),
             8, tr("MB"), "", tr("no limit"),
             limit_reader(&report::Question::memory_bytes, bytes_per_mb, "500 for 500 MB")});
  add_field({"latency_ms", tr("Time ≤"), tr("Latency limit in ms"),
             tr("Latency limit for all candidates of a query; empty: no limit"), 8, tr("ms"), "",
             tr("no limit"),
             limit_reader(&report::Question::latency_ns, ns_per_ms, "200 for 200 ms")});
  // A long list is read from its beginning.
  connect(documents(), &QLineEdit::editingFinished, this, [this] { documents()->home(false); });
  check();
}

void AnswerFields::add_what_lengths_are_of() {
  of_->addItems({tr("of documents, without [SEP]"), tr("of whole sequences, with the query")});
  keep_choice(*of_);
  connect(of_, &QComboBox::activated, this, [this] {
    check();
    Q_EMIT changed();
  });
  form_->addRow({}, of_);
}

void AnswerFields::add_field(const QuestionField& about, QWidget* button) {
  Field field{new QLineEdit, new ProblemLabel(this, about.name), about.read};
  field.problem->setObjectName(QLatin1String(about.name) + QStringLiteral("_problem"));
  QLineEdit* edit = field.edit;
  edit->setObjectName(QLatin1String(about.name));
  edit->setAccessibleName(about.full_name);
  edit->setAccessibleDescription(about.tip);
  edit->setToolTip(about.tip);
  edit->setWhatsThis(about.tip);
  edit->setPlaceholderText(about.when_empty);
  edit->setMinimumWidth(about.characters * fontMetrics().averageCharWidth() + 8);
  edit->setText(QSettings().value(setting_of(edit), QLatin1String(about.at_first)).toString());
  connect(edit, &QLineEdit::textChanged, this, [this, edit] {
    QSettings().setValue(setting_of(edit), edit->text());
    check();
    Q_EMIT changed();
  });
  auto* line = new QHBoxLayout;
  line->addWidget(edit, 1);
  if (!about.unit.isEmpty()) line->addWidget(new QLabel(about.unit));
  if (button != nullptr) line->addWidget(button);
  form_->addRow(about.label, line);
  form_->labelForField(line)->setToolTip(about.tip);
  form_->addRow(field.problem);
  fields_.push_back(std::move(field));
}

void AnswerFields::begin_with(const report::Row& row) {
  const HeatPoint& point = row.cell.point;
  const bool of_sequences = of_->currentIndex() == 1;
  const std::int64_t tokens = of_sequences
                                  ? point.sequence_tokens
                                  : report::document_of(point, point.query_tokens,
                                                        static_cast<double>(point.sequence_tokens));
  const std::pair<const char*, std::int64_t> measured[] = {
      {"document_tokens", tokens},
      {"candidates", static_cast<std::int64_t>(report::documents_of(row))}};
  for (const auto& [name, number] : measured) {
    auto* edit = findChild<QLineEdit*>(QLatin1String(name));
    if (number < 1 || QSettings().contains(setting_of(edit))) continue;
    const QSignalBlocker quiet(edit);  // what nobody typed is not kept
    edit->setText(QString::number(number));
  }
  check();
}

QString AnswerFields::problem() const {
  for (const Field& field : fields_) {
    if (!field.problem->isHidden()) return field.problem->text();
  }
  return {};
}

void AnswerFields::check() {
  AskedQuestion asked;
  asked.question.of_sequences = of_->currentIndex() == 1;
  bool is_whole = true;
  for (const Field& field : fields_) {
    const Status status = field.read(field.edit->text().trimmed(), asked);
    field.problem->set_problem(status ? QString() : words(status.error().message));
    is_whole = is_whole && status.has_value();
  }
  asked_ = is_whole ? std::optional(std::move(asked)) : std::nullopt;
}

QLineEdit* AnswerFields::documents() const {
  return fields_[lengths_field].edit;
}

void AnswerFields::set_file_problem(const QString& sentence) {
  if (asked_ && !asked_->lengths_file.isEmpty())
    fields_[lengths_field].problem->set_problem(sentence);
}

}  // namespace attnscope::gui
