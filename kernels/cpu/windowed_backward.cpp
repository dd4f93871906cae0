// SPDX-License-Identifier: Apache-2.0
//
// The unfused backward: gradients of the weights (the scores step on grad_o and v), of the scores,
// of the queries (the values step on them and k), and of values and keys (transposed products).
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>

#include "kernels/cpu/selected_kernels.h"
#include "kernels/cpu/windowed.h"
#include "kernels/cpu/windowed_backward_keys.h"
#include "kernels/cpu/windowed_layout.h"
#include "kernels/cpu/windowed_steps.h"
#include "kernels/cpu/work_units.h"

namespace attnscope::cpu {
namespace {

/// out_j = scale * sum over rows i of scores[i][j] x_i, for every key of the plan.
struct Transposed {
  const AttentionPlan& plan;
  const KernelTable& kernels;
  const KeyIndex& index;
  ConstTensor x;
  const float* scores;
  float scale;
  Tensor out;
  float* slots;  // of the sums of portions

  /// The sums of a portion for one head.
  [[nodiscard]] float* slot(const KeyUnit& unit, std::int64_t head) const {
    return slots + (unit.slot * plan.heads + head) * chunk_floats(x.head_dim);
  }
};

void sum_unit(const Transposed& product, const KeyUnit& unit, std::int64_t head, float* sums) {
  std::fill_n(sums, chunk_floats(product.x.head_dim), 0.0f);
  product.index.for_each_part(unit, [&](const KeyPart& part) {
    const Task& task = *part.task;
    if (head < task.heads.begin || head >= task.heads.end) return;
    const std::int64_t row = (head - task.heads.begin) * task.queries.size() + part.first_row;
    product.kernels.windowed_transposed(
        {.x = head_view(product.x, head),
         .indices = product.plan.indices.data(),
         .segment = part.segment,
         .queries = part_of(task.queries, part.first_row, part.last_row),
         .head_dim = product.x.head_dim,
         .scores = product.scores + part.first_score + row * part.columns,
         .columns = part.columns,
         .first_key = part.first_key,
         .last_key = part.last_key,
         .first_token = unit.tokens.begin,
         .sums = sums});
  });
}

void store_keys(const Transposed& product, const KeyUnit& unit, std::int64_t head,
                const float* sums) {
  product.kernels.windowed_store_keys(
      {.sums = sums,
       .parts = unit.portions,
       .part_stride = product.plan.heads * chunk_floats(product.x.head_dim),
       .tokens = unit.tokens,
       .head_dim = product.x.head_dim,
       .scale = product.scale,
       .out = head_view(product.out, head)});
}

/// Takes chunks of keys, or portions of the rows that see one, until none is left.
void work_off(const Transposed& product, std::atomic<std::int64_t>& next) {
  alignas(64) std::array<float, largest_chunk_floats()> sums;
  const std::int64_t heads = product.plan.heads;
  for (;;) {
    const std::int64_t number = next.fetch_add(1, std::memory_order_relaxed);
    if (number >= product.index.units() * heads) return;
    const KeyUnit unit = product.index.unit(number / heads);
    const std::int64_t head = number % heads;
    if (unit.portions > 1) {
      sum_unit(product, unit, head, product.slot(unit, head));
    } else {
      sum_unit(product, unit, head, sums.data());
      store_keys(product, unit, head, sums.data());
    }
  }
}

/// Adds up the portions of chunks that were cut, once all are there.
void merge_portions(const Transposed& product, std::atomic<std::int64_t>& next) {
  const std::int64_t heads = product.plan.heads;
  for (;;) {
    const std::int64_t number = next.fetch_add(1, std::memory_order_relaxed);
    if (number >= product.index.units() * heads) return;
    const KeyUnit unit = product.index.unit(number / heads);
    const std::int64_t head = number % heads;
    if (unit.portions > 1 && unit.first_pair == 0) {
      store_keys(product, unit, head, product.slot(unit, head));
    }
  }
}

/// The workspace: gradients of the scores, the index of keys, sums of portions.
struct Parts {
  std::int64_t scores, index, slots;
  [[nodiscard]] std::int64_t floats() const {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(scores, index, &sum) || __builtin_add_overflow(sum, slots, &sum)) {
      return too_many;
    }
    return sum;
  }
};

Parts parts_of(const AttentionPlan& plan, std::int64_t head_dim) {
  return {windowed_score_elements(plan), KeyIndex::floats(plan, head_dim),
          KeyIndex::most_slots(plan, head_dim) * plan.heads * chunk_floats(head_dim)};
}

Status check_call(const AttentionPlan& plan, const GradientTensors& t,
                  std::span<const float> weights, int threads, std::span<const float> workspace) {
  const std::int64_t d = t.q.head_dim;
  if (Status s = windowed_supports(plan, d); !s) return s;
  if (threads < 1) return fail("windowed_backward needs at least 1 thread, not {}", threads);
  const DType dtype = t.q.dtype;
  if (Status s = check_tensor("q", t.q, d, dtype, plan.tokens); !s) return s;
  if (Status s = check_tensor("k", t.k, d, dtype, plan.tokens); !s) return s;
  if (Status s = check_tensor("v", t.v, d, dtype, plan.tokens); !s) return s;
  if (Status s = check_tensor("grad_o", t.grad_o, d, dtype, plan.tokens); !s) return s;
  if (Status s = check_tensor("grad_q", t.grad_q, d, dtype, plan.tokens); !s) return s;
  if (Status s = check_tensor("grad_k", t.grad_k, d, dtype, plan.tokens); !s) return s;
  if (Status s = check_tensor("grad_v", t.grad_v, d, dtype, plan.tokens); !s) return s;
  const std::int64_t scores = windowed_score_elements(plan);
  if (static_cast<std::int64_t>(weights.size()) < scores) {
    return fail(
        "windowed_backward got {} weights and needs {}: the workspace as windowed_forward left it",
        weights.size(), scores);
  }
  const std::int64_t needed = windowed_backward_elements(plan, d);
  if (static_cast<std::int64_t>(workspace.size()) < needed) {
    return fail(
        "The workspace has {} floats; windowed_backward needs {} "
        "(windowed_backward_elements)",
        workspace.size(), needed);
  }
  return {};
}

}  // namespace

std::int64_t windowed_backward_elements(const AttentionPlan& plan, std::int64_t head_dim) {
  if (head_dim < 1 || head_dim > largest_head_dim) return 0;
  return parts_of(plan, head_dim).floats();
}

Status windowed_backward(const AttentionPlan& plan, const GradientTensors& tensors, float scale,
                         std::span<const float> weights, int threads, std::span<float> workspace) {
  if (Status s = check_call(plan, tensors, weights, threads, workspace); !s) return s;
  const Result<const KernelTable*> kernels = selected_kernels();
  if (!kernels) return tl::unexpected(kernels.error());
  const Parts parts = parts_of(plan, tensors.q.head_dim);
  float* scores = workspace.data();
  float* slots = scores + parts.scores + parts.index;
  const KeyIndex index(plan, tensors.q.head_dim,
                       workspace.subspan(static_cast<std::size_t>(parts.scores),
                                         static_cast<std::size_t>(parts.index)));
  const WindowedStep of_weights{.run = (*kernels)->windowed_scores,
                                .q = tensors.grad_o,
                                .k = tensors.v,
                                .v = tensors.v,
                                .o = tensors.grad_q,
                                .scores = scores,
                                .weights = weights.data()};
  WindowedStep of_scores = of_weights;
  of_scores.run = (*kernels)->windowed_score_gradients;
  WindowedStep of_queries = of_weights;
  of_queries.run = (*kernels)->windowed_values;
  of_queries.v = tensors.k;
  of_queries.scale = scale;
  const Transposed of_values{plan,           **kernels, index,          tensors.grad_o,
                             weights.data(), 1.0f,      tensors.grad_v, slots};
  const Transposed of_keys{plan, **kernels, index, tensors.q, scores, scale, tensors.grad_k, slots};
  std::array<std::atomic<std::int64_t>, 7> next{};
#pragma omp parallel num_threads(threads)
  {
    work_off(plan, of_weights, next[0]);
#pragma omp barrier
    work_off(plan, of_scores, next[1]);
#pragma omp barrier
    work_off(plan, of_queries, next[2]);
    work_off(of_values, next[3]);
    if (index.slots() > 0) {
#pragma omp barrier
      merge_portions(of_values, next[4]);
#pragma omp barrier
    }
    work_off(of_keys, next[5]);
    if (index.slots() > 0) {
#pragma omp barrier
      merge_portions(of_keys, next[6]);
    }
  }
  return {};
}

}  // namespace attnscope::cpu
