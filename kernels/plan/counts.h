#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Exact work of a plan, in closed form: O(tasks + segments + skipped keys), never O(pairs).
// These are the *useful* counts that rooflines and limits are computed from.

#include <cstdint>

#include "kernels/plan/attention_plan.h"
#include "kernels/plan/tensor.h"

namespace attnscope {

struct PlanCounts {
  std::int64_t pairs = 0;         // (query, key, head) triples allowed, over all heads
  std::int64_t query_rows = 0;    // (query, head) pairs that attend to at least one key
  std::int64_t exponentials = 0;  // of a forward pass: one per pair
};

/// What is counted: the forward pass, or it and the backward pass after it. The backward pass
/// computes the scores and their exponentials again, because what it saves by keeping them costs
/// traffic of the order of the pairs.
enum class Passes : std::uint8_t { forward, forward_backward };

[[nodiscard]] PlanCounts count(const AttentionPlan& plan);

/// Allowed pairs of one head of `task` inside the rectangle `rows` x `keys` of packed tokens, in
/// closed form.
[[nodiscard]] std::int64_t pairs_within(const AttentionPlan& plan, const Task& task,
                                        TokenRange rows, TokenRange keys);

/// Forward: two products of d multiply-adds a pair, 4*d*pairs floating-point operations. Backward:
/// five more products (the scores again, and the gradients of weights, queries, keys and values).
[[nodiscard]] double useful_flop(const PlanCounts& counts, std::int64_t head_dim,
                                 Passes passes = Passes::forward);

/// Exponentials: one per pair in either pass.
[[nodiscard]] double useful_exponentials(const PlanCounts& counts, Passes passes = Passes::forward);

/// Least traffic, for tokens that take part. Forward: q, k, v read once and o written once.
/// Backward: q, k, v, o and grad_o read once, and three gradients written.
[[nodiscard]] double least_bytes(const AttentionPlan& plan, std::int64_t head_dim, DType dtype,
                                 Passes passes = Passes::forward);

}  // namespace attnscope
