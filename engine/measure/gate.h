#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Right before fast: a contender's output is held against the float64 reference before it is timed,
// and its memory is metered in the same call.

#include <cstdint>
#include <map>

#include "engine/attention/reference.h"
#include "engine/measure/inputs.h"
#include "engine/measure/lineup.h"

namespace attnscope::measure {

/// Rows compared: 256 at ordinary lengths, fewer when rows x keys would take a second and more.
[[nodiscard]] std::int64_t rows_to_compare(std::int64_t item_tokens);

/// References of a heat, one for each distinct pattern and window, computed when first asked for.
class References {
 public:
  References(const Lineup& lineup, std::uint64_t seed) : lineup_(lineup), seed_(seed) {}
  [[nodiscard]] const ReferenceRows& of(std::size_t contender, const PlacementBuffers& buffers);

 private:
  const Lineup& lineup_;
  std::uint64_t seed_;
  std::map<const PlannedPattern*, ReferenceRows> known_;
};

struct Verdict {
  double relative_error = 0;
  double error_bound = 0;
  std::optional<Trouble> trouble;  // `wrong`, with the numbers
};

/// Judges what stands in the output buffers, which were poisoned before the call.
[[nodiscard]] Verdict judge_output(const ReferenceRows& reference, const PlacementBuffers& buffers);

}  // namespace attnscope::measure
