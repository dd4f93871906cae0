#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Figures whose points have their own x: the roofline, and effectiveness over time.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/report/figure.h"
#include "engine/report/measured_effectiveness.h"
#include "engine/report/published.h"
#include "engine/report/row.h"

namespace attnscope::report {

// The roofline's data: a cell at (useful FLOP per byte that must move, useful GFLOP/s), and the
// machine's ceilings.

/// FLOP per byte of the cell's useful work; empty if its work is not known.
[[nodiscard]] std::optional<double> work_per_byte(const Row& row);

/// Medians of the run's measurements: the rate of products, the rate of exponentials if it is the
/// lower bound (converted to useful FLOP by the cells' ratio of FLOP to exponentials), and the copy
/// rate of every working set, the smallest first.
[[nodiscard]] std::vector<Ceiling> ceilings_of(const Table& table);

// The figure of effectiveness over time: one point per contender, measured or published.

/// A contender's position in the plane of time and effectiveness.
struct TimedEffectiveness {
  std::string name, contender;  // id
  double time_ns = 0;
  std::string remark{};  // on its time: "≈ interpolated"
  std::int64_t cell = -1;
  std::optional<MeasuredEffectiveness> measured{};
  std::optional<PublishedNdcg> published{};  // looked up only if none was measured
};
/// Time on x, the measure on y; † marks contenders equivalent to the baseline, "publ." published
/// values if other contenders were measured. The front contains the points that no other point
/// beats in both; it uses measured values, or published ones if there are none, because the two
/// refer to different collections. `of`: the unit of a time, "per document".
[[nodiscard]] Figure effectiveness_figure(const std::vector<TimedEffectiveness>& contenders,
                                          std::string_view of);

/// A range of y, common to all panels, in which a difference of 0.01 is visible but small. Empty
/// without points.
struct ReadableRange {
  double low = 0, high = 0;
};
[[nodiscard]] std::optional<ReadableRange> readable_range(std::span<const Figure> figures);

}  // namespace attnscope::report
