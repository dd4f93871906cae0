#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The reference for kernel pooling: its definition in float64, for the calls of
// kernels/cpu/kernel_pooling.h.

#include <vector>

#include "kernels/cpu/kernel_pooling.h"

namespace attnscope::testing {

[[nodiscard]] std::vector<double> pooled_sums_reference(const cpu::PoolingCall& call);
[[nodiscard]] std::vector<double> region_scores_reference(const cpu::RegionCall& call);
/// The shares of one region, [query_rows, 11].
[[nodiscard]] std::vector<double> region_shares_reference(const cpu::RegionCall& call,
                                                          std::size_t document,
                                                          std::int64_t region);

/// Gradients for all tokens of the call.
struct PoolingReference {
  std::vector<double> query, tokens, kernel_weights, factor, exponent, constant, alpha;
};
[[nodiscard]] PoolingReference pooled_sums_backward_reference(const cpu::PoolingCall& call,
                                                              std::span<const float> grad_sums);
[[nodiscard]] PoolingReference region_scores_backward_reference(const cpu::RegionCall& call,
                                                                std::span<const float> grad_scores);

}  // namespace attnscope::testing
