#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What the store thread hands to the window: immutable values, shared by pointer, so that no page
// ever touches the store and no lock is needed.

#include <QMetaType>
#include <QString>
#include <QStringList>
#include <memory>
#include <optional>
#include <vector>

#include "engine/report/figure.h"
#include "engine/report/table.h"

namespace attnscope::gui {

/// One line of the run list.
struct RunEntry {
  RunInfo info;
  std::optional<Progress> progress;  // of a live run
};

/// Live runs first, then newest first.
struct RunListSnapshot {
  std::vector<RunEntry> runs;
};

/// A figure, or the sentence that says why there is none.
struct FigureSnapshot {
  std::optional<report::Figure> figure;
  QString problem;
};

/// Which part of which run a page wants to see.
struct RunRequest {
  QString uuid;
  QString baseline;          // contender id; empty: none
  bool any_baseline = true;  // where the run does not have that one, its first contender will do
  report::XAxis x = report::XAxis::length;
  int slice = 0;  // which combination of the axes that a chart holds fixed
  friend bool operator==(const RunRequest&, const RunRequest&) = default;
};

struct RunSnapshot {
  RunRequest request;
  report::Table table;     // every cell of the run
  QStringList contenders;  // ids, in order of appearance: the baseline picker's choices
  QStringList slices;      // words for each combination of fixed axes; one or none: no picker
  FigureSnapshot time, memory, executed;
  QStringList answers;  // of what the charts show: crossovers, and what does not fit
  int damaged_cells = 0;
  QString problem;      // the run could not be read
  bool locked = false;  // and it was because another process holds the database
};

using RunListPointer = std::shared_ptr<const RunListSnapshot>;
using RunPointer = std::shared_ptr<const RunSnapshot>;

}  // namespace attnscope::gui

Q_DECLARE_METATYPE(attnscope::gui::RunRequest)
Q_DECLARE_METATYPE(attnscope::gui::RunListPointer)
Q_DECLARE_METATYPE(attnscope::gui::RunPointer)
