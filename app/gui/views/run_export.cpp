// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/run_export.h"

#include "app/gui/charts/facets_export.h"
#include "app/gui/charts/figure_export.h"
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

Status write_figure_file(const RunSnapshot& run, report::YAxis y, const QString& file) {
  const FigureSnapshot& snapshot = figure_of(run, y);
  if (!snapshot.figure && !snapshot.facets) {
    return fail("There is no figure to export: {}", snapshot.problem.isEmpty()
                                                        ? "the run has no finished heat yet."
                                                        : snapshot.problem.toStdString());
  }
  charts::FigureOptions options;
  for (const QString& id : run.contenders) options.contenders.push_back(id.toStdString());
  if (snapshot.facets) return charts::export_facets(*snapshot.facets, file.toStdString(), options);
  return charts::export_figure(*snapshot.figure, file.toStdString(), options);
}

}  // namespace attnscope::gui
