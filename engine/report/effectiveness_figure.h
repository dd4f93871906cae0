#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The figure of effectiveness over time: one point per contender, measured or published.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/report/figure.h"
#include "engine/report/measured_effectiveness.h"
#include "engine/report/published.h"

namespace attnscope::report {

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
