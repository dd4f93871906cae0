#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What the Copy and Export menus write: names of files, and figures.

#include <QString>

#include "app/gui/session/snapshot.h"

namespace attnscope::gui {

/// The run's name and what is shown of it, as a file name without what shells and file systems
/// stumble over.
[[nodiscard]] QString file_stem(const RunSnapshot& run, const QString& suffix);

/// One of the run's views, as its slice is drawn.
[[nodiscard]] const FigureSnapshot& figure_of(const RunSnapshot& run, report::YAxis y);

}  // namespace attnscope::gui
