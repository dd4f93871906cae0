#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The texts of the window: conversions, counts, safe user text, lists of token numbers as the user
// types them ("300, 200, 4x100"), and the definitions of terms. All views take the definitions from
// here, so that a term has the same definition everywhere.

#include <QString>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace attnscope::gui {

/// Converts the engine's UTF-8 text to a QString.
[[nodiscard]] inline QString qstring(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

/// "1 cell", "3 cells": Qt's own plurals need a translation file even in English.
[[nodiscard]] inline QString counted(qint64 count, const QString& one, const QString& many) {
  return QStringLiteral("%1 %2").arg(count).arg(count == 1 ? one : many);
}

/// Makes the user's text safe next to other text: replaces characters that control a terminal or
/// change the direction of the text that follows.
[[nodiscard]] inline QString harmless(QString text) {
  for (QChar& letter : text) {
    const char16_t code = letter.unicode();
    const bool controls =
        letter.category() == QChar::Other_Control && code != u'\n' && code != u'\t';
    const bool turns = code == u'\u061c' || code == u'\u200e' || code == u'\u200f' ||
                       (code >= u'\u202a' && code <= u'\u202e') ||
                       (code >= u'\u2066' && code <= u'\u2069');
    if (controls || turns) letter = QChar::ReplacementCharacter;
  }
  return text;
}
[[nodiscard]] inline std::string harmless(const std::string& text) {
  return harmless(qstring(text)).toStdString();
}

/// At most `most` characters; the last one is an ellipsis if text was cut.
[[nodiscard]] inline QString shortened(const QString& text, qsizetype most) {
  return text.size() <= most ? text : text.left(most - 1) + QChar(u'…');
}

/// For a label: keeps "w = 4", "10 ms", "|10-12|", "sparse/segment" and the like on one line.
[[nodiscard]] QString unbroken(QString text);

[[nodiscard]] inline QString counted_runs(qint64 count) {
  return counted(count, QStringLiteral("run"), QStringLiteral("runs"));
}

inline constexpr int most_documents = 1000;  // per item

/// Document lengths; "4x100" means four documents of 100 tokens. Between 1 and 1000 documents.
[[nodiscard]] Result<std::vector<std::int64_t>> parse_lengths(const QString& text);
/// Ascending, unique offsets; an empty text gives none.
[[nodiscard]] Result<std::vector<std::int64_t>> parse_offsets(const QString& text);

/// "300, 200, 4x100"
[[nodiscard]] QString lengths_text(const std::vector<std::int64_t>& lengths);
[[nodiscard]] QString offsets_text(const std::vector<std::int64_t>& offsets);

/// `term`: "heat", "candidates", "contender", "w", the marks "~" and "!" of a table, or a
/// contender's id, as in "full/dense". Empty for self-explanatory terms.
[[nodiscard]] QString explained(const QString& term);
[[nodiscard]] inline QString explained(const char* term) {
  return explained(QString::fromUtf8(term));
}

}  // namespace attnscope::gui
