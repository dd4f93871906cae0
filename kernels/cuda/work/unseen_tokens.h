#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What has not streamed past a narrow task's rows yet.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kernels/cuda/work/directed_tasks.h"

namespace attnscope::cuda {

class UnseenTokens {
 public:
  /// All of the segments, which are whole.
  explicit UnseenTokens(std::span<const DirectedSegment> segments);

  [[nodiscard]] std::int64_t count() const { return count_; }
  /// In how many pieces they lie.
  [[nodiscard]] std::size_t stretches() const { return stretches_.size(); }

  /// Takes the first interval that a staged span and the unseen tokens share, and gives the rule
  /// for it.
  [[nodiscard]] std::optional<WorkRule> take(const WorkSpan& staged, Indices indices);

  /// Takes all that is left, as spans to be staged.
  [[nodiscard]] std::vector<WorkSpan> take_rest();

 private:
  /// Contiguous tokens by their number, listed ones by their position in the index list.
  using Place = std::pair<std::int32_t, std::int32_t>;  // listed, begin
  struct Stretch {
    std::int32_t end = 0;
    std::int32_t skips = -1;  // as of a WorkSpan
    std::int32_t skip_origin = 0;
  };

  std::map<Place, Stretch> stretches_;
  std::int64_t count_ = 0;
};

}  // namespace attnscope::cuda
