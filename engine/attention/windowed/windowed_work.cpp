// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/windowed/windowed_work.h"

#include "kernels/plan/counts.h"

namespace attnscope {
namespace {

/// Work on `scores` stored scores: the band's cut-off ends are computed (as zeros) and stored, too.
/// Backward are the gradients of both factors of each product; `passes` read or write all scores.
ExecutedWork band_work(const Problem& problem, std::int64_t scores, int passes) {
  const bool backward = problem.direction == Direction::forward_backward;
  return {.flop = 2.0 * (backward ? 2 + 4 : 2) * static_cast<double>(scores) *
                  static_cast<double>(problem.head_dim),
          .bytes = least_bytes(problem.plan, problem.head_dim, problem.dtype,
                               passes_of(problem.direction)) +
                   static_cast<double>(scores) * static_cast<double>(sizeof(float)) * passes};
}

}  // namespace

// Scores are written, read and written by the softmax, and read. Backward the gradient of the
// weights is written, that of the scores made of it and the weights, and three products read.
ExecutedWork windowed_steps_work(const Problem& problem, std::int64_t scores) {
  return band_work(problem, scores, problem.direction == Direction::forward_backward ? 4 + 7 : 4);
}

// The band is written and read. Backward it is read once more, its gradient written and read
// twice.
ExecutedWork windowed_products_work(const Problem& problem, std::int64_t scores) {
  return band_work(problem, scores, problem.direction == Direction::forward_backward ? 2 + 4 : 2);
}

}  // namespace attnscope
