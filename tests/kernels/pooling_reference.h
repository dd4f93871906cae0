#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Kernel pooling in float64, written down as its definition has it: what the kernels are held
// against. The same fields as the calls of kernels/cpu/kernel_pooling.h, and their results.

#include <vector>

#include "kernels/cpu/kernel_pooling.h"

namespace attnscope::testing {

[[nodiscard]] std::vector<double> pooled_sums_reference(const cpu::PoolingCall& call);
[[nodiscard]] std::vector<double> region_scores_reference(const cpu::RegionCall& call);
/// Of one region, [query_rows, 11].
[[nodiscard]] std::vector<double> region_shares_reference(const cpu::RegionCall& call,
                                                          std::size_t document,
                                                          std::int64_t region);

/// Gradients, of all tokens of the call.
struct PoolingReference {
  std::vector<double> query, tokens, kernel_weights, factor, exponent, constant, alpha;
};
[[nodiscard]] PoolingReference pooled_sums_backward_reference(const cpu::PoolingCall& call,
                                                              std::span<const float> grad_sums);
[[nodiscard]] PoolingReference region_scores_backward_reference(const cpu::RegionCall& call,
                                                                std::span<const float> grad_scores);

}  // namespace attnscope::testing
