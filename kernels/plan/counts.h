#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Exact work of a plan, in closed form: O(tasks + segments + skipped keys), never O(pairs).
// Rooflines and limits are computed from these *useful* counts.

#include <cstdint>

#include "kernels/plan/attention_plan.h"
#include "kernels/plan/tensor.h"

namespace attnscope {

struct PlanCounts {
  std::int64_t pairs = 0;         // allowed (query, key, head) triples, over all heads
  std::int64_t query_rows = 0;    // (query, head) pairs that attend to at least one key
  std::int64_t exponentials = 0;  // in a forward pass: one per pair
};

/// The passes that are counted: forward, or forward and backward. The backward pass computes the
/// scores and their exponentials again, because keeping them would cost memory traffic proportional
/// to the number of pairs.
enum class Passes : std::uint8_t { forward, forward_backward };

[[nodiscard]] PlanCounts count(const AttentionPlan& plan);

/// Allowed pairs of one head of `task` inside the rectangle `rows` x `keys` of packed tokens, in
/// closed form.
[[nodiscard]] std::int64_t pairs_within(const AttentionPlan& plan, const Task& task,
                                        TokenRange rows, TokenRange keys);

/// Forward: two products of d multiply-adds per pair, 4*d*pairs floating-point operations.
/// Backward: five more products (the scores again, and the gradients of weights, queries, keys and
/// values).
[[nodiscard]] double useful_flop(const PlanCounts& counts, std::int64_t head_dim,
                                 Passes passes = Passes::forward);

/// Exponentials: one per pair in each pass.
[[nodiscard]] double useful_exponentials(const PlanCounts& counts, Passes passes = Passes::forward);

/// Least memory traffic, for tokens that attend or are attended to. Forward: reads q, k, v once and
/// writes o once. Backward: reads q, k, v, o and grad_o once, and writes three gradients.
[[nodiscard]] double least_bytes(const AttentionPlan& plan, std::int64_t head_dim, DType dtype,
                                 Passes passes = Passes::forward);

}  // namespace attnscope
