#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What the words mean that the window shows without a sentence around them. Whoever shows one
// explains it from here, so that it means the same everywhere.

#include <QString>

namespace attnscope::gui {

/// "heat", "candidates", "contender", "w", the marks "~" and "!" of a table, or a contender's id,
/// as in "full/dense"; empty of what explains itself.
[[nodiscard]] QString explained(const QString& term);
[[nodiscard]] inline QString explained(const char* term) {
  return explained(QString::fromUtf8(term));
}

}  // namespace attnscope::gui
