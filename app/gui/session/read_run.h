#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Reads a run into the snapshot a page shows. A chart needs every axis but its own fixed; where a
// sweep has several dtypes, batches or (with windows along x) lengths, each combination of them is
// a slice, and one slice is drawn.

#include <vector>

#include "app/gui/session/snapshot.h"
#include "engine/store/store.h"

namespace attnscope::gui {

[[nodiscard]] RunPointer read_run(const Store& store, const RunRequest& request);

[[nodiscard]] Result<RunListPointer> read_run_list(const Store& store);

/// The distinct fixed axes of the rows, each as the heat point that all its rows share but for the
/// chart's own axis.
[[nodiscard]] std::vector<HeatPoint> slices_of(const report::Table& table, report::XAxis x);
/// Words for each slice, naming only the axes in which the slices differ: "4096 tokens, float16".
[[nodiscard]] QStringList slice_words(const std::vector<HeatPoint>& slices);

}  // namespace attnscope::gui
