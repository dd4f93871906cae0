#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The roofline's data: a cell at (useful FLOP per byte that must move, useful GFLOP/s), and the
// machine's ceilings.

#include <optional>
#include <vector>

#include "engine/report/figure.h"
#include "engine/report/row.h"

namespace attnscope::report {

/// FLOP per byte of the cell's useful work; empty if its work is not known.
[[nodiscard]] std::optional<double> work_per_byte(const Row& row);

/// Medians of the run's measurements: the rate of products, the rate of exponentials if it is the
/// lower bound (converted to useful FLOP by the cells' ratio of FLOP to exponentials), and the copy
/// rate of every working set, the smallest first.
[[nodiscard]] std::vector<Ceiling> ceilings_of(const Table& table);

}  // namespace attnscope::report
