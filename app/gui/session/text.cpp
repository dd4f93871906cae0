// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/text.h"

#include <QRegularExpression>

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

}  // namespace attnscope::gui
