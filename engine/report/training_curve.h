#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Curves of training runs as a figure that overlays them, and as a table.
//
//   Result<TrainingCurve> curve = read_training_curve("out");
//   Facets figure = training_figure({*curve});

#include <span>
#include <string>
#include <vector>

#include "engine/ranking/training_curve.h"
#include "engine/report/figure.h"
#include "engine/report/sheet.h"

namespace attnscope::report {

/// The name of each curve: its folder, with as much of the path as is needed to be unique.
[[nodiscard]] std::vector<std::string> names_of(std::span<const TrainingCurve> curves);

/// Losses over steps and, if any step was validated, nDCG@10: one panel each, with one line per
/// training run. With many steps, a point is the mean loss of several steps, the same number for
/// all runs; the panel's title states it. The best nDCG@10 of each run is marked.
[[nodiscard]] Facets training_figure(std::span<const TrainingCurve> curves);

/// The progress and the results of each training run, one row per run.
[[nodiscard]] Sheet training_sheet(std::span<const TrainingCurve> curves);

}  // namespace attnscope::report
