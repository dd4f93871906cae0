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

const ReferenceRows& References::of(std::size_t contender, const PlacementBuffers& buffers) {
  const PlannedPattern* planned = &lineup_.planned(contender);
  const auto known = known_.find(planned);
  if (known != known_.end()) return known->second;
  const InputShape& shape = lineup_.shape();
  const std::int64_t item_tokens = shape.tokens / std::max<std::int64_t>(shape.items, 1);
  const auto rows = sample_rows(lineup_.layout(), static_cast<std::int32_t>(shape.heads),
                                rows_to_compare(item_tokens), seed_);
  return known_
      .emplace(planned, compute_reference(lineup_.problem(contender), rows, buffers.q(),
                                          buffers.k(), buffers.v()))
      .first->second;
}

Verdict judge_output(const ReferenceRows& reference, const PlacementBuffers& buffers) {
  const Tensor output = buffers.o();
  Verdict verdict{.relative_error = relative_error(reference, output),
                  .error_bound = error_bound(output.dtype),
                  .trouble = {}};
  if (!buffers.output_is_finite())
    verdict.trouble =
        Trouble{CellStatus::wrong,
                "the output holds values that are not finite, or rows that were never written"};
  else if (!(verdict.relative_error <= verdict.error_bound))
    verdict.trouble = Trouble{
        CellStatus::wrong,
        fmt::format("its relative error against the float64 reference is {:.3g}, above {:.3g}, on "
                    "{} compared rows",
                    verdict.relative_error, verdict.error_bound, reference.rows.size())};
  return verdict;
}

}  // namespace attnscope::measure
