// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/question_text.h"

#include <QUrl>
#include <algorithm>
#include <cmath>
#include <utility>

#include "app/gui/models/number_list.h"
#include "kernels/base/sentences.h"

namespace attnscope::gui {
namespace {

constexpr std::int64_t most_candidates = 1'000'000'000;
constexpr double largest_limit = 1e12;

/// What was meant as numbers, right or wrong.
bool is_of_numbers(const QString& text) {
  return std::all_of(text.begin(), text.end(), [](QChar letter) {
    return letter.isDigit() || letter.isSpace() || QStringLiteral(",;.+-xX").contains(letter);
  });
}

std::string quoted(const QString& text) {
  return in_a_sentence(text.toStdString());
}

}  // namespace

Result<DocumentsText> parse_documents(const QString& text) {
  const QString trimmed = text.trimmed();
  if (trimmed.isEmpty()) {
    return fail("Give a length, as in 512, several, as in 300, 200, 4x100, or a file of them.");
  }
  if (!is_of_numbers(trimmed)) {
    const QUrl url(trimmed);  // a file that was dropped here
    return DocumentsText(url.isLocalFile() ? url.toLocalFile() : trimmed);
  }
  Result<std::vector<std::int64_t>> lengths = parse_lengths(trimmed);
  if (!lengths) return tl::unexpected(lengths.error());
  if (std::ranges::any_of(*lengths, [](std::int64_t tokens) { return tokens < 1; })) {
    return fail("A document has at least one token; leave the 0 out.");
  }
  return DocumentsText(report::DocumentLengths(std::move(*lengths)));
}

Result<std::optional<std::int64_t>> parse_query_tokens(const QString& text) {
  const QString trimmed = text.trimmed();
  if (trimmed.isEmpty()) return std::optional<std::int64_t>();
  bool is_number = false;
  const qlonglong tokens = trimmed.toLongLong(&is_number);
  if (!is_number || tokens < 0 || tokens > report::longest_document) {
    return fail("\"{}\" is no number of tokens; write one from 0 to {}, or nothing.",
                quoted(trimmed), report::longest_document);
  }
  return std::optional<std::int64_t>(tokens);
}

Result<std::int64_t> parse_candidates(const QString& text) {
  const QString trimmed = text.trimmed();
  bool is_number = false;
  const qlonglong count = trimmed.toLongLong(&is_number);
  if (!is_number || count < 1 || count > most_candidates) {
    return fail("\"{}\" is no number of documents; write one from 1 to {}.", quoted(trimmed),
                most_candidates);
  }
  return count;
}

Result<std::optional<double>> parse_limit(const QString& text, const char* example) {
  const QString trimmed = text.trimmed();
  if (trimmed.isEmpty()) return std::optional<double>();
  bool is_number = false;
  const double limit = trimmed.toDouble(&is_number);
  if (!is_number || !std::isfinite(limit) || limit <= 0 || limit > largest_limit) {
    return fail("\"{}\" is no limit; write a number above 0, as in {}, or nothing.",
                quoted(trimmed), example);
  }
  return std::optional<double>(limit);
}

}  // namespace attnscope::gui
