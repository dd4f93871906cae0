#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later

#include <QString>
#include <string>
#include <string_view>

namespace attnscope::gui {

/// Converts the engine's UTF-8 text to a QString.
[[nodiscard]] inline QString words(std::string_view text) {
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
  return harmless(words(text)).toStdString();
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

}  // namespace attnscope::gui
