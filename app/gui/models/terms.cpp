// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/terms.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>
#include <array>

namespace attnscope::gui {
namespace {

struct Term {
  const char* word;
  const char* meaning;
};

constexpr std::array<Term, 6> terms{{
    {"heat", QT_TRANSLATE_NOOP("Terms",
                               "One setting, at which all contenders are measured by turns: so "
                               "whatever else the machine does meets all of them alike.")},
    {"candidates", QT_TRANSLATE_NOOP("Terms", "The documents that are re-ranked for one query.")},
    {"contender",
     QT_TRANSLATE_NOOP("Terms",
                       "What is compared: an attention pattern, the implementation that "
                       "computes it and, where it has one, its window.")},
    {"w", QT_TRANSLATE_NOOP("Terms",
                            "The window: how many tokens to its left and to its right a "
                            "document token attends to.")},
    {"!", QT_TRANSLATE_NOOP(
              "Terms", "disturbed: other programs kept cores busy, the time may be too long.")},
    {"~", QT_TRANSLATE_NOOP("Terms", "drifted: became faster or slower over its heat.")},
}};

}  // namespace

QString explained(const QString& term) {
  const auto found =
      std::ranges::find_if(terms, [&](const Term& one) { return term == QLatin1String(one.word); });
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
