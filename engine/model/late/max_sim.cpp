// SPDX-License-Identifier: Apache-2.0
#include "engine/model/late/max_sim.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

#include "engine/model/bert/encoder.h"

namespace attnscope {

Result<Interacted> MaxSim::of(const at::Tensor& query, const Candidates& candidates,
                              std::int64_t layer, const Show& show) const {
  const auto largest = largest_products_with(candidates, query, least, computing, threads);
  if (!largest) return tl::unexpected(largest.error());
  if (show && candidates.count() == 1) {
    const at::Tensor rows =
        at::cat({query.to(at::kFloat),
                 candidates.rows.gathered(candidates.documents, computing).to(at::kFloat)});
    const std::vector<float> vectors = floats_of(rows);
    for (const char* name : {"q", "k", "v"})
      show({layer, name, {rows.size(0), 1, rows.size(1)}, vectors});
  }
  return Interacted{.scores = largest->sum(1), .states = *largest};
}

ModelWork MaxSim::work(const InteractionSize& size) const {
  return {.linear_flop = 2 * size.rows() * static_cast<double>(size.query_tokens * width),
          .least_bytes = size.rows() * size.row_bytes};
}

std::int64_t MaxSim::peak_bytes(const InteractionSize& size) const {
  const auto candidates = static_cast<std::int64_t>(size.candidate_rows.size());
  if (computing.device.is_cpu()) return candidates * (4 * size.query_tokens + 32);
  return static_cast<std::int64_t>(size.rows()) * (8 * size.query_tokens + 4 * width + 16);
}

ModelWork MaxSim::work_of_vectors(std::int64_t tokens, std::int64_t hidden) const {
  const double weights = static_cast<double>(hidden) * static_cast<double>(width);
  const auto count = static_cast<double>(tokens);
  return {.linear_flop = 2 * count * weights,
          .least_bytes = (weights + count * static_cast<double>(width)) *
                         static_cast<double>(attnscope::size_of(computing.dtype))};
}

}  // namespace attnscope
