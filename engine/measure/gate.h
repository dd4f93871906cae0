#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Right before fast: a contender's output, and its gradients, are held against the float64
// reference before it is timed, and its memory is metered in the same call.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "engine/attention/reference.h"
#include "engine/attention/reference_gradients.h"
#include "engine/measure/inputs.h"
#include "engine/measure/lineup.h"

namespace attnscope::measure {

/// Rows compared: 256 at ordinary lengths, fewer when rows x keys would take a second and more.
[[nodiscard]] std::int64_t rows_to_compare(std::int64_t item_tokens);

struct HeatReference {
  ReferenceRows rows;
  std::optional<ReferenceGradients> gradients;  // of direction forward-backward
};

/// References of a heat, one for each distinct pattern and window, computed when first asked for.
class References {
 public:
  References(const Lineup& lineup, std::uint64_t seed);
  /// The rows compared; grad_o has to be zero in all others.
  [[nodiscard]] std::span<const RowId> rows() const { return rows_; }
  [[nodiscard]] const HeatReference& of(std::size_t contender, const PlacementBuffers& buffers);

 private:
  const Lineup& lineup_;
  std::vector<RowId> rows_;
  std::map<const PlannedPattern*, HeatReference> known_;
};

struct Verdict {
  WorstError error;
  std::optional<Trouble> trouble;  // `wrong`, with the tensor and the numbers
};

/// Judges what stands in the output buffers, which were poisoned before the call.
[[nodiscard]] Verdict judge(const HeatReference& reference, const PlacementBuffers& buffers);

}  // namespace attnscope::measure
