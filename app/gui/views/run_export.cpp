// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/run_export.h"

#include "app/gui/session/text.h"

namespace attnscope::gui {

QString file_stem(const RunSnapshot& run, const QString& suffix) {
  QString stem = QStringLiteral("%1-%2").arg(words(run.table.run.start.sweep_name), suffix);
  for (QChar& letter : stem) {
    if (!letter.isLetterOrNumber() && letter != QLatin1Char('-')) letter = QLatin1Char('-');
  }
  return stem;
}

const FigureSnapshot& figure_of(const RunSnapshot& run, report::YAxis y) {
  static const FigureSnapshot nothing;
  const auto found = run.figures.find(y);
  return found == run.figures.end() ? nothing : found->second;
}

}  // namespace attnscope::gui
