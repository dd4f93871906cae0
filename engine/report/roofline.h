#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The roofline's numbers: a cell at (useful FLOP per byte that must move, useful GFLOP/s), and the
// machine's ceilings above it.

#include <optional>
#include <vector>

#include "engine/report/figure.h"

namespace attnscope::report {

/// FLOP per byte of the cell's useful work; nothing where its work is not known.
[[nodiscard]] std::optional<double> work_per_byte(const Row& row);

/// Medians of the run's measurements: the rate of products, exponentials where they bind before it
/// (a rate of useful FLOP: one exponential comes with as many as the cells have), and the copy rate
/// of every working set, the smallest first.
[[nodiscard]] std::vector<Ceiling> ceilings_of(const Table& table);

}  // namespace attnscope::report
