// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/longformer_banded/work.h"

#include "kernels/plan/counts.h"
#include "kernels/plan/windowed_layout.h"

namespace attnscope::longformer_banded {

ExecutedWork banded_work(const Problem& problem) {
  const bool backward = problem.direction == Direction::forward_backward;
  const bool softmax = weighting_of(problem) == Weighting::softmax;
  const PlanCounts counts = count(problem.plan);
  const auto pairs = static_cast<double>(counts.pairs);
  const double row_bytes = static_cast<double>(problem.head_dim * size_of(problem.dtype));
  const auto scores = static_cast<double>(windowed_score_elements(problem.plan));
  // Cells beyond a sequence's ends are written, not computed. Backward are the gradients of both
  // factors of both products: the weights are kept.
  const double products = backward ? 2 + 4 : 2;
  // Scores are written, read and written by the softmax, and read. Backward the weights are read,
  // read again and become the scores' gradients, and those are read twice.
  const double passes = (softmax ? 4 : 2) + (backward ? 1 + (softmax ? 2 : 1) + 2 : 0);
  // grad_o is read for grad_v, for the scores' gradients and, on CUDA, for its product with o.
  const double arriving = !backward || !softmax ? 0 : problem.device == DeviceKind::cuda ? 2 : 1;
  return {.flop = 2.0 * products * pairs * static_cast<double>(problem.head_dim),
          .bytes = least_bytes(problem.plan, problem.head_dim, problem.dtype,
                               passes_of(problem.direction)) +
                   passes * scores * static_cast<double>(sizeof(float)) +
                   arriving * static_cast<double>(counts.query_rows) * row_bytes};
}

}  // namespace attnscope::longformer_banded
