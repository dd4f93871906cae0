// SPDX-License-Identifier: Apache-2.0
#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "kernels/cpu/segment.h"
#include "kernels/cpu/selected_kernels.h"
#include "kernels/cpu/work_units.h"

namespace attnscope::cpu {
namespace {

constexpr std::int64_t alignment = 64;
constexpr auto float_bytes = static_cast<std::int64_t>(sizeof(float));

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::int64_t thread_floats(const BackwardCut& cut, std::int64_t head_dim) {
  return round_up(backward_scratch_floats(head_dim, cut.largest_strip, cut.largest_halo),
                  alignment / float_bytes);
}

struct Call {
  const AttentionPlan& plan;
  const GradientTensors& tensors;
  float scale;
  const KernelTable& kernels;
  BackwardCut cut;
  std::int64_t head_dim;
  std::int64_t pitch;
  float* partials;

  /// Partial sums of a group's head and chunk.
  [[nodiscard]] float* slots(const BackwardGroup& group, std::int64_t head,
                             std::int64_t chunk) const {
    return partials + group.partials_before +
           (head * group.chunks + chunk) * (2 * group.slot_rows + group.split_rows) * pitch;
  }
  [[nodiscard]] float* split(const BackwardGroup& group, std::int64_t head,
                             std::int64_t chunk) const {
    return slots(group, head, chunk) + 2 * group.slot_rows * pitch;
  }
};

void run_unit(const Call& call, const BackwardGroup& group, std::int64_t number, float* scratch) {
  // Heads vary fastest: in token-major memory the heads of the same rows are adjacent.
  const std::int64_t head = number % call.plan.heads;
  const std::int64_t chunk = number / call.plan.heads;
  const GradientTensors& t = call.tensors;
  const BackwardUnit unit{.q = head_view(t.q, head),
                          .k = head_view(t.k, head),
                          .v = head_view(t.v, head),
                          .o = head_view(t.o, head),
                          .grad_o = head_view(t.grad_o, head),
                          .grad_q = head_view(t.grad_q, head),
                          .grad_k = head_view(t.grad_k, head),
                          .grad_v = head_view(t.grad_v, head),
                          .lse = t.lse.data() + head,
                          .lse_stride = call.plan.heads,
                          .tasks = call.plan.tasks.data(),
                          .segments = call.plan.segments.data(),
                          .indices = call.plan.indices.data(),
                          .task_rows = call.cut.task_rows.data(),
                          .regions = call.cut.regions.data(),
                          .group = &group,
                          .chunk = chunk,
                          .head = head,
                          .head_dim = call.head_dim,
                          .scale = call.scale,
                          .slots = call.slots(group, head, chunk),
                          .split = call.split(group, head, chunk),
                          .scratch = scratch,
                          .largest_strip = call.cut.largest_strip,
                          .largest_halo = call.cut.largest_halo};
  call.kernels.segment_backward_unit(unit);
}

void run_units(const Call& call, std::atomic<std::int64_t>& next, float* scratch) {
  std::size_t g = 0;
  for (;;) {
    const std::int64_t number = next.fetch_add(1, std::memory_order_relaxed);
    if (number >= call.cut.units) return;
    while (g + 1 < call.cut.groups.size() && call.cut.groups[g + 1].units_before <= number) ++g;
    const BackwardGroup& group = call.cut.groups[g];
    run_unit(call, group, number - group.units_before, scratch);
  }
}

/// The gradients of one key, summed in float32.
struct KeySum {
  std::array<float, largest_head_dim> key{};
  std::array<float, largest_head_dim> value{};
};

void add(const float* from, std::int64_t count, std::array<float, largest_head_dim>& to) {
  for (std::int64_t c = 0; c < count; ++c) to[static_cast<std::size_t>(c)] += from[c];
}

void add_slot(const Call& call, const BackwardGroup& group, std::int64_t head, std::int64_t row,
              KeySum& sum) {
  for (std::int64_t chunk = 0; chunk < group.chunks; ++chunk) {
    const float* slots = call.slots(group, head, chunk);
    add(slots + row * call.pitch, call.head_dim, sum.key);
    add(slots + (group.slot_rows + row) * call.pitch, call.head_dim, sum.value);
  }
}

void store_key(const Call& call, std::int64_t head, std::int64_t token, const KeySum& sum) {
  const GradientTensors& t = call.tensors;
  call.kernels.store_row(sum.key.data(), call.head_dim, call.scale, head_view(t.grad_k, head),
                         t.grad_k.offset(token, 0));
  call.kernels.store_row(sum.value.data(), call.head_dim, 1.0f, head_view(t.grad_v, head),
                         t.grad_v.offset(token, 0));
}

/// The row of a token in a region, or -1.
std::int64_t row_of(const AttentionPlan& plan, const SlotRegion& region, std::int64_t token) {
  const TokenRun& run = region.run;
  if (!run.listed) {
    return token >= run.begin && token < run.end ? region.first_row + token - run.begin : -1;
  }
  const auto first = plan.indices.begin() + run.begin;
  const auto last = plan.indices.begin() + run.end;
  const auto found = std::lower_bound(first, last, token);
  return found != last && *found == token ? region.first_row + (found - first) : -1;
}

/// Adds all sums of a token in a group's regions; returns -1 or the first region that has it.
std::int64_t add_regions(const Call& call, const BackwardGroup& group, std::int64_t head,
                         std::int64_t token, KeySum& sum) {
  std::int64_t first = -1;
  for (std::int64_t i = group.first_region; i < group.last_region; ++i) {
    const std::int64_t row =
        row_of(call.plan, call.cut.regions[static_cast<std::size_t>(i)], token);
    if (row < 0) continue;
    if (first < 0) first = i;
    add_slot(call, group, head, row, sum);
  }
  return first;
}

/// The group's own keys with slots, each at its first region.
void merge_own_slots(const Call& call, const BackwardGroup& group, std::int64_t head) {
  for (std::int64_t i = group.first_region; i < group.last_region; ++i) {
    const TokenRun& run = call.cut.regions[static_cast<std::size_t>(i)].run;
    for (std::int64_t place = 0; place < run.size(); ++place) {
      const std::int64_t token = call.plan.token_at(run, place);
      if (token < group.hull.begin || token >= group.hull.end) continue;
      KeySum sum;
      if (add_regions(call, group, head, token, sum) == i) store_key(call, head, token, sum);
    }
  }
}

/// Keys visible to all groups: first the shared group's own sums, then every group's.
void merge_shared_slots(const Call& call, const BackwardGroup& shared, std::int64_t head) {
  for (std::int64_t token = shared.hull.begin; token < shared.hull.end; ++token) {
    KeySum sum;
    add_slot(call, shared, head, shared.own_slot + token - shared.hull.begin, sum);
    for (const BackwardGroup& group : call.cut.groups) add_regions(call, group, head, token, sum);
    store_key(call, head, token, sum);
  }
}

void merge_split_rows(const Call& call, const BackwardGroup& group, std::int64_t head) {
  const Tensor& grad_q = call.tensors.grad_q;
  for (std::int64_t t = group.first_task; t < group.last_task; ++t) {
    const Task& task = call.plan.tasks[static_cast<std::size_t>(t)];
    const std::int64_t first = call.cut.task_rows[static_cast<std::size_t>(t)].split;
    if (first < 0 || head < task.heads.begin || head >= task.heads.end) continue;
    for (std::int64_t row = 0; row < task.queries.size(); ++row) {
      std::array<float, largest_head_dim> sum{};
      for (std::int64_t chunk = 0; chunk < group.chunks; ++chunk) {
        add(call.split(group, head, chunk) + (first + row) * call.pitch, call.head_dim, sum);
      }
      call.kernels.store_row(sum.data(), call.head_dim, call.scale, head_view(grad_q, head),
                             grad_q.offset(call.plan.token_at(task.queries, row), 0));
    }
  }
}

/// Merges every `threads`-th pair of group and head, starting at `thread`.
void merge(const Call& call, std::int64_t thread, std::int64_t threads) {
  std::int64_t turn = 0;
  for (const BackwardGroup& group : call.cut.groups) {
    for (std::int64_t head = 0; head < call.plan.heads; ++head) {
      if (turn++ % threads != thread) continue;
      merge_split_rows(call, group, head);
      if (group.shared) {
        merge_shared_slots(call, group, head);
      } else {
        merge_own_slots(call, group, head);
      }
    }
  }
}

Status check_gradients(const AttentionPlan& plan, const GradientTensors& tensors, int threads,
                       std::span<const std::byte> workspace) {
  const ConstTensor& q = tensors.q;
  if (Status s = segment_supports(plan, q.head_dim); !s) return s;
  if (Status s = check_gradient_call("segment_backward", plan, tensors, threads); !s) return s;
  const std::int64_t rows = plan.tokens * plan.heads;
  if (static_cast<std::int64_t>(tensors.lse.size()) != rows) {
    return fail(
        "lse has {} floats, the plan {} rows (tokens * heads); pass those that "
        "segment_forward wrote",
        tensors.lse.size(), rows);
  }
  const std::int64_t needed = segment_backward_workspace_bytes(plan, q.head_dim, threads);
  if (static_cast<std::int64_t>(workspace.size()) < needed) {
    return fail(
        "The workspace has {} bytes; segment_backward needs {} (segment_backward_workspace_bytes)",
        workspace.size(), needed);
  }
  return {};
}

}  // namespace

std::int64_t segment_backward_workspace_bytes(const AttentionPlan& plan, std::int64_t head_dim,
                                              int threads) {
  if (head_dim < 1 || head_dim > largest_head_dim || threads < 1) return 0;
  std::vector<std::byte> tables(static_cast<std::size_t>(backward_cut_bytes(plan) + alignment));
  void* memory = tables.data();
  std::size_t space = tables.size();
  std::align(alignment, 1, memory, space);
  const BackwardCut cut = cut_for_backward(plan, head_dim, memory);
  return backward_cut_bytes(plan) +
         (threads * thread_floats(cut, head_dim) + cut.partial_floats) * float_bytes + alignment;
}

Status segment_backward(const AttentionPlan& plan, const GradientTensors& tensors, float scale,
                        int threads, std::span<std::byte> workspace) {
  if (Status s = check_gradients(plan, tensors, threads, workspace); !s) return s;
  const Result<const KernelTable*> kernels = selected_kernels();
  if (!kernels) return tl::unexpected(kernels.error());
  void* memory = workspace.data();
  std::size_t space = workspace.size();
  std::align(alignment, 1, memory, space);
  const std::int64_t head_dim = tensors.q.head_dim;
  Call call{.plan = plan,
            .tensors = tensors,
            .scale = scale,
            .kernels = **kernels,
            .cut = cut_for_backward(plan, head_dim, memory),
            .head_dim = head_dim,
            .pitch = gradient_pitch(head_dim),
            .partials = nullptr};
  auto* scratch =
      reinterpret_cast<float*>(static_cast<std::byte*>(memory) + backward_cut_bytes(plan));
  const std::int64_t scratch_floats = thread_floats(call.cut, head_dim);
  call.partials = scratch + threads * scratch_floats;
  std::atomic<std::int64_t> next{0};
#pragma omp parallel num_threads(threads)
  {
    run_units(call, next, scratch + omp_get_thread_num() * scratch_floats);
#pragma omp barrier
    merge(call, omp_get_thread_num(), omp_get_num_threads());
  }
  return {};
}

}  // namespace attnscope::cpu
