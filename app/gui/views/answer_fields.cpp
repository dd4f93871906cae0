// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/answer_fields.h"

#include <QComboBox>
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
#include "base/sentences.h"
#include "engine/report/row.h"
#include "views/ui_answer_fields.h"

namespace attnscope::gui {

namespace {

constexpr std::int64_t most_candidates = 1'000'000'000;
constexpr double largest_limit = 1e12;
constexpr double bytes_per_mb = 1e6, ns_per_ms = 1e6;

std::string quoted(const QString& text) {
  return in_a_sentence(text.toStdString());
}

/// Whether the text is meant as numbers, valid or not.
bool is_of_numbers(const QString& text) {
  return std::all_of(text.begin(), text.end(), [](QChar letter) {
    return letter.isDigit() || letter.isSpace() || QStringLiteral(",;.+-xX").contains(letter);
  });
}

/// Lengths, or the file that contains them: any text with characters other than digits, separators
/// and "x".
Status read_documents(const QString& text, RequestedQuestion& into) {
  if (text.isEmpty()) {
    return fail("Give a length, as in 512, several, as in 300, 200, 4x100, or a file of them.");
  }
  if (!is_of_numbers(text)) {
    const QUrl url(text);  // a dropped file
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

Status read_query_tokens(const QString& text, RequestedQuestion& into) {
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

Status read_candidates(const QString& text, RequestedQuestion& into) {
  bool is_number = false;
  const qlonglong count = text.toLongLong(&is_number);
  if (!is_number || count < 1 || count > most_candidates) {
    return fail("\"{}\" is no number of documents; write one from 1 to {}.", quoted(text),
                most_candidates);
  }
  into.question.candidates = count;
  return {};
}

/// Reads a limit into that part of the question, times `unit`; empty: no limit. `example` shows the
/// format.
auto limit_reader(std::optional<double> report::Question::*part, double unit, const char* example) {
  return [part, unit, example](const QString& text, RequestedQuestion& into) -> Status {
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
    : QWidget(parent), ui_(std::make_unique<Ui::AnswerFields>()) {
  ui_->setupUi(this);
  ui_->candidates->setToolTip(explained("candidates"));
  explain_fields(*this);
  bind(ui_->query_tokens, 13, ui_->query_tokens_problem, read_query_tokens);
  bind(ui_->document_tokens, 18, ui_->document_tokens_problem, read_documents);
  bind(ui_->candidates, 6, ui_->candidates_problem, read_candidates);
  bind(ui_->memory_mb, 8, ui_->memory_mb_problem,
       limit_reader(&report::Question::memory_bytes, bytes_per_mb, "500 for 500 MB"));
  bind(ui_->latency_ms, 8, ui_->latency_ms_problem,
       limit_reader(&report::Question::latency_ns, ns_per_ms, "200 for 200 ms"));
  keep_choice(*ui_->lengths_of);
  connect(ui_->lengths_of, &QComboBox::activated, this, [this] {
    check();
    Q_EMIT changed();
  });
  connect(ui_->lengths_file, &QToolButton::clicked, this, &AnswerFields::file_wanted);
  // A long list is shown from its beginning.
  connect(documents(), &QLineEdit::editingFinished, documents(),
          [edit = documents()] { edit->home(false); });
  check();
}

AnswerFields::~AnswerFields() = default;

void AnswerFields::bind(QLineEdit* edit, int characters, ProblemLabel* problem, Reader read) {
  edit->setMinimumWidth(characters * fontMetrics().averageCharWidth() + 8);
  edit->setText(QSettings().value(setting_of(edit), edit->text()).toString());
  connect(edit, &QLineEdit::textChanged, this, [this, edit] {
    QSettings().setValue(setting_of(edit), edit->text());
    check();
    Q_EMIT changed();
  });
  fields_.push_back({edit, problem, std::move(read)});
}

void AnswerFields::begin_with(const report::Row& row) {
  const HeatPoint& point = row.cell.point;
  const bool of_sequences = ui_->lengths_of->currentIndex() == 1;
  const std::int64_t tokens = of_sequences
                                  ? point.sequence_tokens
                                  : report::document_of(point, point.query_tokens,
                                                        static_cast<double>(point.sequence_tokens));
  const std::pair<QLineEdit*, std::int64_t> measured[] = {
      {documents(), tokens},
      {ui_->candidates, static_cast<std::int64_t>(report::documents_of(row))}};
  for (const auto& [edit, number] : measured) {
    if (number < 1 || QSettings().contains(setting_of(edit))) continue;
    const QSignalBlocker quiet(edit);  // values that the user did not type are not stored
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
  RequestedQuestion requested;
  requested.question.of_sequences = ui_->lengths_of->currentIndex() == 1;
  bool is_whole = true;
  for (const Field& field : fields_) {
    const Status status = field.read(field.edit->text().trimmed(), requested);
    field.problem->set_problem(status ? QString() : words(status.error().message));
    is_whole = is_whole && status.has_value();
  }
  requested_ = is_whole ? std::optional(std::move(requested)) : std::nullopt;
}

QLineEdit* AnswerFields::documents() const {
  return ui_->document_tokens;
}

void AnswerFields::set_file_problem(const QString& sentence) {
  if (requested_ && !requested_->lengths_file.isEmpty())
    ui_->document_tokens_problem->set_problem(sentence);
}

}  // namespace attnscope::gui
