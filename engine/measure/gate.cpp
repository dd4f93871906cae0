// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/gate.h"

#include <algorithm>

namespace attnscope::measure {
namespace {

constexpr std::int64_t most_rows = 256;
constexpr std::int64_t least_rows = 16;
constexpr std::int64_t most_pairs =
    4'000'000;  // 12 reads and 64 multiply-adds each, within a second

}  // namespace

std::int64_t rows_to_compare(std::int64_t item_tokens) {
  return std::clamp(most_pairs / std::max<std::int64_t>(item_tokens, 1), least_rows, most_rows);
}

References::References(const Lineup& lineup, std::uint64_t seed) : lineup_(lineup) {
  const InputShape& shape = lineup_.shape();
  const std::int64_t item_tokens = shape.tokens / std::max<std::int64_t>(shape.items, 1);
  rows_ = sample_rows(lineup_.layout(), static_cast<std::int32_t>(shape.heads),
                      rows_to_compare(item_tokens), seed);
}

const HeatReference& References::of(std::size_t contender, const PlacementBuffers& buffers) {
  const PlannedPattern* planned = &lineup_.planned(contender);
  const auto known = known_.find(planned);
  if (known != known_.end()) return known->second;
  const Problem problem = lineup_.problem(contender);
  HeatReference reference{
      .rows = compute_reference(problem, rows_, buffers.q(), buffers.k(), buffers.v()),
      .gradients = {}};
  if (problem.direction == Direction::forward_backward)
    reference.gradients = compute_reference_gradients(problem, rows_, buffers.q(), buffers.k(),
                                                      buffers.v(), buffers.grad_o());
  return known_.emplace(planned, std::move(reference)).first->second;
}

Verdict judge(const HeatReference& reference, const PlacementBuffers& buffers) {
  const DType dtype = buffers.o().dtype;
  Verdict verdict;
  verdict.error.meet(relative_error(reference.rows, buffers.o()), error_bound(dtype), "output");
  if (reference.gradients) {
    const GradientErrors errors =
        gradient_errors(*reference.gradients, buffers.grad_q(), buffers.grad_k(), buffers.grad_v());
    verdict.error.meet(errors.largest(), gradient_error_bound(dtype), errors.worst());
  }
  if (const char* name = buffers.not_finite())
    verdict.trouble = Trouble{
        CellStatus::wrong,
        fmt::format("its {} holds values that are not finite, or rows that were never written",
                    name)};
  else if (!verdict.error.is_allowed())
    verdict.trouble =
        Trouble{CellStatus::wrong,
                fmt::format("the relative error of its {} against the float64 reference is "
                            "{:.3g}, above {:.3g}, with {} compared rows",
                            verdict.error.tensor, verdict.error.error, verdict.error.bound,
                            reference.rows.rows.size())};
  return verdict;
}

}  // namespace attnscope::measure
