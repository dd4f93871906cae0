#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What files are named that a run is written into.

#include <QString>

#include "app/gui/session/snapshot.h"
#include "app/gui/session/text.h"

namespace attnscope::gui {

/// The run's name and what is shown of it, without what shells and file systems stumble over.
[[nodiscard]] inline QString file_stem(const RunSnapshot& run, const QString& suffix) {
  QString stem = QStringLiteral("%1-%2").arg(words(run.table.run.start.sweep_name), suffix);
  for (QChar& letter : stem) {
    if (!letter.isLetterOrNumber() && letter != QLatin1Char('-')) letter = QLatin1Char('-');
  }
  return stem;
}

}  // namespace attnscope::gui
