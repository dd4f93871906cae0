#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Names of the files that a run is exported to.

#include <QString>

#include "app/gui/session/snapshot.h"
#include "app/gui/session/text.h"

namespace attnscope::gui {

/// The run's name, its number and the exported part, "quick-12-time", without characters that cause
/// problems in shells and file systems.
[[nodiscard]] inline QString file_stem(const RunInfo& run, const QString& suffix) {
  constexpr int longest = 80;
  QString stem = QStringLiteral("%1-%2-%3")
                     .arg(words(title_of(run)).left(longest))
                     .arg(run.number)
                     .arg(suffix);
  for (QChar& letter : stem) {
    if (!letter.isLetterOrNumber() && letter != QLatin1Char('-')) letter = QLatin1Char('-');
  }
  return stem;
}

}  // namespace attnscope::gui
