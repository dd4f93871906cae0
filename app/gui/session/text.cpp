// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/text.h"

#include <QCoreApplication>
#include <QRegularExpression>
#include <QStringList>
#include <algorithm>
#include <array>
#include <optional>

namespace attnscope::gui {

QString unbroken(QString text) {
  static const QRegularExpression blank(QStringLiteral(
      "(?<=\\S) (?==)|(?<==) (?=\\S)|(?<=\\d) (?=(ms|µs|ns|s|[kMG]i?B|tokens)\\b|%)"));
  static const QRegularExpression after(QStringLiteral("(?<=\\w)([-/|])"));
  static const QRegularExpression before(QStringLiteral("([-/|])(?=\\w)"));
  text.replace(blank, QString(QChar::Nbsp));
  text.replace(after, QStringLiteral("\u2060\\1"));
  return text.replace(before, QStringLiteral("\\1\u2060"));
}

namespace {

constexpr std::int64_t most_tokens = 1'000'000;

QStringList parts_of(const QString& text) {
  static const QRegularExpression between(QStringLiteral("[,;\\s]+"));
  return text.split(between, Qt::SkipEmptyParts);
}

std::optional<std::int64_t> number_of(const QString& text) {
  bool is_number = false;
  const qlonglong number = text.toLongLong(&is_number);
  if (!is_number || number < 0 || number > most_tokens) return std::nullopt;
  return number;
}

tl::unexpected<Error> not_a_number(const QString& part, const char* example) {
  return fail("\"{}\" is not a whole number from 0 to {}; enter {}.", part.toStdString(),
              most_tokens, example);
}

}  // namespace

Result<std::vector<std::int64_t>> parse_lengths(const QString& text) {
  std::vector<std::int64_t> lengths;
  for (const QString& part : parts_of(text)) {
    const qsizetype times = part.indexOf(QLatin1Char('x'), 0, Qt::CaseInsensitive);
    const auto count = times < 0 ? std::optional<std::int64_t>(1) : number_of(part.left(times));
    const auto length = number_of(part.mid(times + 1));
    if (!count || !length) return not_a_number(part, "lengths such as 300, 200, 4x100");
    if (lengths.size() + static_cast<std::size_t>(*count) > most_documents) {
      return fail("An item has at most {} documents.", most_documents);
    }
    lengths.insert(lengths.end(), static_cast<std::size_t>(*count), *length);
  }
  if (lengths.empty()) return fail("Enter at least one length, such as 300, 200, 4x100.");
  return lengths;
}

Result<std::vector<std::int64_t>> parse_offsets(const QString& text) {
  std::vector<std::int64_t> offsets;
  for (const QString& part : parts_of(text)) {
    const auto offset = number_of(part);
    if (!offset) return not_a_number(part, "offsets such as 0, 30, 60");
    if (!offsets.empty() && *offset <= offsets.back()) {
      return fail("Sentence starts must ascend, but {} follows {}.", *offset, offsets.back());
    }
    offsets.push_back(*offset);
  }
  return offsets;
}

QString lengths_text(const std::vector<std::int64_t>& lengths) {
  QStringList parts;
  for (std::size_t i = 0; i < lengths.size();) {
    std::size_t end = i;
    while (end < lengths.size() && lengths[end] == lengths[i]) ++end;
    const QString length = QString::number(lengths[i]);
    parts.append(end - i == 1 ? length : QStringLiteral("%1x%2").arg(end - i).arg(length));
    i = end;
  }
  return parts.join(QStringLiteral(", "));
}

QString offsets_text(const std::vector<std::int64_t>& offsets) {
  QStringList parts;
  parts.reserve(static_cast<qsizetype>(offsets.size()));
  for (const std::int64_t offset : offsets) parts.append(QString::number(offset));
  return parts.join(QStringLiteral(", "));
}

namespace {

struct Term {
  const char* word;
  const char* meaning;
};

constexpr std::array<Term, 6> terms{{
    {"heat",
     QT_TRANSLATE_NOOP("Terms",
                       "One point of the axes at which all contenders are measured in turn, so "
                       "that disturbances of the machine affect all of them equally.")},
    {"candidates", QT_TRANSLATE_NOOP("Terms", "The documents that are re-ranked for one query.")},
    {"contender",
     QT_TRANSLATE_NOOP("Terms",
                       "A compared configuration: an attention pattern, the implementation that "
                       "computes it and, if it has one, its window.")},
    {"w", QT_TRANSLATE_NOOP("Terms",
                            "The window: how many tokens to its left and to its right a "
                            "document token attends to.")},
    {"!", QT_TRANSLATE_NOOP(
              "Terms", "disturbed: other programs kept cores busy; the time may be too long.")},
    {"~", QT_TRANSLATE_NOOP("Terms", "drifted: became faster or slower during its heat.")},
}};

}  // namespace

QString explained(const QString& term) {
  const auto found = std::ranges::find_if(
      terms, [&](const Term& each) { return term == QLatin1String(each.word); });
  if (found != terms.end()) return QCoreApplication::translate("Terms", found->meaning);
  const QStringList parts = term.split(QLatin1Char('/'));
  if (parts.size() < 2 || parts.size() > 3) return {};
  QString text = QCoreApplication::translate("Terms",
                                             "%1: attention of the pattern \"%2\", "
                                             "computed by the implementation \"%3\"")
                     .arg(term, parts[0], parts[1]);
  if (parts.size() > 2) {
    text += QCoreApplication::translate("Terms", ", with a window of %1 tokens to each side")
                .arg(parts[2]);
  }
  return text + QLatin1Char('.');
}

}  // namespace attnscope::gui
