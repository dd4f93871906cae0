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
  std::int64_t exponentials = 0;  // one per pair
};

[[nodiscard]] PlanCounts count(const AttentionPlan& plan);

/// Allowed pairs of one head of `task` inside the rectangle `rows` x `keys` of packed tokens, in
/// closed form.
[[nodiscard]] std::int64_t pairs_within(const AttentionPlan& plan, const Task& task,
                                        TokenRange rows, TokenRange keys);

/// Forward: two products, 2*d multiply-adds each a pair: 4*d*pairs floating-point operations.
[[nodiscard]] double useful_flop(const PlanCounts& counts, std::int64_t head_dim);

/// Least traffic: q, k, v read once and o written once, for tokens that take part.
[[nodiscard]] double least_bytes(const AttentionPlan& plan, std::int64_t head_dim, DType dtype);

}  // namespace attnscope
