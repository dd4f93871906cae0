#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Definitions of terms that the window shows without a sentence around them. All views take them
// from here, so that a term has the same definition everywhere.

#include <QString>

namespace attnscope::gui {

/// `term`: "heat", "candidates", "contender", "w", the marks "~" and "!" of a table, or a
/// contender's id, as in "full/dense". Empty for self-explanatory terms.
[[nodiscard]] QString explained(const QString& term);
[[nodiscard]] inline QString explained(const char* term) {
  return explained(QString::fromUtf8(term));
}

}  // namespace attnscope::gui
