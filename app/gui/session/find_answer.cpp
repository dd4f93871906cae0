// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/find_answer.h"

#include <array>
#include <string_view>
#include <utility>

#include "app/gui/session/text.h"

namespace attnscope::gui {
namespace {

/// A question has its own lengths and is put to every contender, whatever the charts hold fixed.
constexpr std::array<std::string_view, 3> asked_keys{"sequence_tokens", "query_tokens", "window"};

/// Ends in a full stop and begins with a capital, as what stands beside a field.
QString sentence(const std::string& message) {
  QString text = words(message);
  if (!text.isEmpty()) text[0] = text[0].toUpper();
  return text.endsWith(QLatin1Char('.')) ? text : text + QLatin1Char('.');
}

}  // namespace

AnswerPointer find_answer(const RunSnapshot& run, const AskedQuestion& asked) {
  auto answer = std::make_shared<AnswerSnapshot>();
  report::Question question = asked.question;
  if (!asked.lengths_file.isEmpty()) {
    Result<report::DocumentLengths> lengths =
        report::read_document_lengths(asked.lengths_file.toStdString());
    if (!lengths) {
      answer->lengths_problem = sentence(lengths.error().message);
      return answer;
    }
    question.documents = std::move(*lengths);
  }
  std::vector<const report::Row*> rows;
  rows.reserve(run.table.rows.size());
  for (const report::Row& row : run.table.rows) {
    if (report::is_in(run.slice, row, asked_keys)) rows.push_back(&row);
  }
  answer->settings = report::make_answers(run.table.run, run.table.baseline, rows, question);
  return answer;
}

}  // namespace attnscope::gui
