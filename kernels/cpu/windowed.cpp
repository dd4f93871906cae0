// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/windowed.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <string_view>

#include "kernels/cpu/selected_kernels.h"
#include "kernels/cpu/windowed_steps.h"
#include "kernels/cpu/work_units.h"

namespace attnscope::cpu {
namespace {

Status check_call(const AttentionPlan& plan, const ConstTensor& q, const ConstTensor& k,
                  const ConstTensor& v, const Tensor& o, std::span<const float> lse, int threads,
                  std::span<const float> workspace) {
  if (Status s = windowed_supports(plan, q.head_dim); !s) return s;
  if (Status s = check_attention_call("windowed_forward", plan, q, k, v, o, lse, threads); !s)
    return s;
  const std::int64_t needed = windowed_score_elements(plan);
  if (static_cast<std::int64_t>(workspace.size()) < needed) {
    return fail("The workspace has {} floats; windowed_forward needs {} (windowed_score_elements)",
                workspace.size(), needed);
  }
  return {};
}

}  // namespace

Status windowed_supports(const AttentionPlan& plan, std::int64_t head_dim) {
  if (Status s = check_operands("Windowed attention", head_dim); !s) return s;
  return has_windowed_layout(plan, /*most=*/too_many - 1);
}

Status windowed_forward(const AttentionPlan& plan, const ConstTensor& q, const ConstTensor& k,
                        const ConstTensor& v, float scale, const Tensor& o, std::span<float> lse,
                        int threads, std::span<float> workspace) {
  if (Status s = check_call(plan, q, k, v, o, lse, threads, workspace); !s) return s;
  const Result<const KernelTable*> kernels = selected_kernels();
  if (!kernels) return tl::unexpected(kernels.error());
  WindowedStep scores{.run = (*kernels)->windowed_scores,
                      .q = q,
                      .k = k,
                      .v = v,
                      .o = o,
                      .scores = workspace.data(),
                      .lse = lse.empty() ? nullptr : lse.data(),
                      .scale = scale * static_cast<float>(log2_e),
                      .outside = -std::numeric_limits<float>::infinity()};
  WindowedStep softmax = scores;
  softmax.run = (*kernels)->windowed_softmax;
  WindowedStep values = scores;
  values.run = (*kernels)->windowed_values;
  values.scale = 1.0f;
  std::atomic<std::int64_t> scored{0}, normalized{0}, written{0};
#pragma omp parallel num_threads(threads)
  {
    work_off(plan, scores, scored);
#pragma omp barrier
    work_off(plan, softmax, normalized);
#pragma omp barrier
    work_off(plan, values, written);
  }
  return {};
}

namespace {

void run_unit(const AttentionPlan& plan, const WindowedStep& step, const WorkUnit& unit,
              std::int64_t scores_before) {
  const Task& task = *unit.task;
  const std::int64_t columns = columns_of(plan, task);
  for (std::int64_t head = unit.first_head; head < unit.last_head; ++head) {
    const std::int64_t row = (head - task.heads.begin) * unit.cut.rows + unit.first_row;
    const std::int64_t first_score = scores_before + row * columns;
    const WindowedChunk chunk{
        .rows = {.q = head_view(step.q, head),
                 .k = head_view(step.k, head),
                 .v = head_view(step.v, head),
                 .o = head_view(step.o, head),
                 .indices = plan.indices.data(),
                 .segments = plan.segments_of(task).data(),
                 .segment_count = task.segment_count,
                 .queries = part_of(task.queries, unit.first_row, unit.last_row),
                 .head_dim = step.o.head_dim,
                 .scale = step.scale,
                 .lse = step.lse == nullptr ? nullptr : step.lse + head,
                 .lse_stride = plan.heads},
        .scores = step.scores + first_score,
        .weights = step.weights == nullptr ? nullptr : step.weights + first_score,
        .columns = columns,
        .outside = step.outside};
    step.run(chunk);
  }
}

}  // namespace

void work_off(const AttentionPlan& plan, const WindowedStep& step,
              std::atomic<std::int64_t>& next) {
  UnitCursor units(plan, step.o.head_dim, KeyCut::never);
  ScoreCursor scores(plan);
  WorkUnit unit;
  while (units.seek(next.fetch_add(1, std::memory_order_relaxed), unit)) {
    run_unit(plan, step, unit, scores.seek(*unit.task));
  }
}

std::int64_t ScoreCursor::seek(const Task& task) {
  for (; &plan_.tasks[task_] != &task; ++task_) {
    before_ += rows_of(plan_.tasks[task_]) * columns_of(plan_, plan_.tasks[task_]);
  }
  return before_;
}

// windowed_qk and windowed_pv and their gradients: the band steps of windowed.cpp on sequences
// instead of a plan.

namespace {

/// Rows of one sequence and head that a thread processes at once.
struct BandUnit {
  TokenRange sequence;
  std::int64_t head = 0;
  TokenRange rows;
  std::int64_t first_element = 0;  // of the rows, in the band
};

/// Finds units by ascending number, like UnitCursor for tasks.
class BandCursor {
 public:
  explicit BandCursor(const BandProblem& problem)
      : problem_(problem), chunk_(chunk_rows(problem.head_dim)) {}

  [[nodiscard]] bool seek(std::int64_t number, BandUnit& unit) {
    while (sequence_ < problem_.sequences.size() && number >= units_before_ + units()) {
      units_before_ += units();
      elements_before_ += problem_.heads * current().size() * columns();
      ++sequence_;
    }
    if (sequence_ >= problem_.sequences.size()) return false;
    const std::int64_t place = number - units_before_;
    const std::int64_t first = place / problem_.heads * chunk_;
    unit.sequence = current();
    unit.head = place % problem_.heads;
    unit.rows = {unit.sequence.begin + first,
                 std::min(unit.sequence.begin + first + chunk_, unit.sequence.end)};
    unit.first_element = elements_before_ + (unit.head * unit.sequence.size() + first) * columns();
    return true;
  }

 private:
  [[nodiscard]] TokenRange current() const { return problem_.sequences[sequence_]; }
  [[nodiscard]] std::int64_t units() const {
    return (current().size() + chunk_ - 1) / chunk_ * problem_.heads;
  }
  [[nodiscard]] std::int64_t columns() const { return columns_of(band_of(problem_, current())); }

  const BandProblem& problem_;
  std::int64_t chunk_;
  std::size_t sequence_ = 0;
  std::int64_t units_before_ = 0;
  std::int64_t elements_before_ = 0;
};

Status check_problem(std::string_view operation, const BandProblem& problem, int threads,
                     std::size_t band_floats) {
  if (Status s = check_operands(operation, problem.head_dim); !s) return s;
  if (problem.window < 0) {
    return fail("{} has window {}; it must be at least 0", operation, problem.window);
  }
  if (problem.heads < 1)
    return fail("{} has {} heads; at least 1 is needed", operation, problem.heads);
  if (threads < 1) return fail("{} needs at least 1 thread, not {}", operation, threads);
  const std::int64_t needed = band_elements(problem);
  if (static_cast<std::int64_t>(band_floats) < needed) {
    return fail("{} got a band of {} floats and needs {} (band_elements)", operation, band_floats,
                needed);
  }
  return {};
}

/// Processes units until none are left: runs `step` on each, with tensors from `views`.
template <typename Views>
void work_off(const BandProblem& problem, void (*step)(const WindowedChunk&), float scale,
              float* band, std::atomic<std::int64_t>& next, const Views& views) {
  BandCursor cursor(problem);
  BandUnit unit;
  while (cursor.seek(next.fetch_add(1, std::memory_order_relaxed), unit)) {
    const Segment segment = band_of(problem, unit.sequence);
    WindowedChunk chunk{};
    views(chunk.rows, unit.head);
    chunk.rows.segments = &segment;
    chunk.rows.segment_count = 1;
    chunk.rows.queries = {unit.rows.begin, unit.rows.end};
    chunk.rows.head_dim = problem.head_dim;
    chunk.rows.scale = scale;
    chunk.scores = band + unit.first_element;
    chunk.columns = columns_of(segment);
    chunk.outside = 0.0f;
    step(chunk);
  }
}

/// out_j = scale * sum over i of band[i][j's column] x_i: the rows of a unit are its keys here.
void work_off_transposed(const BandProblem& problem, const KernelTable& kernels,
                         std::span<const float> band, const ConstTensor& x, float scale,
                         const Tensor& out, std::atomic<std::int64_t>& next) {
  alignas(64) std::array<float, largest_chunk_floats()> sums;
  BandCursor cursor(problem);
  BandUnit unit;
  while (cursor.seek(next.fetch_add(1, std::memory_order_relaxed), unit)) {
    const Segment segment = band_of(problem, unit.sequence);
    const std::int64_t columns = columns_of(segment);
    std::fill_n(sums.begin(), chunk_floats(problem.head_dim), 0.0f);
    kernels.windowed_transposed({.x = head_view(x, unit.head),
                                 .indices = nullptr,
                                 .segment = &segment,
                                 .queries = {unit.sequence.begin, unit.sequence.end},
                                 .head_dim = problem.head_dim,
                                 .scores = band.data() + unit.first_element -
                                           (unit.rows.begin - unit.sequence.begin) * columns,
                                 .columns = columns,
                                 .first_key = unit.rows.begin,
                                 .last_key = unit.rows.end,
                                 .first_token = unit.rows.begin,
                                 .sums = sums.data()});
    kernels.windowed_store_keys({.sums = sums.data(),
                                 .parts = 1,
                                 .part_stride = 0,
                                 .tokens = unit.rows,
                                 .head_dim = problem.head_dim,
                                 .scale = scale,
                                 .out = head_view(out, unit.head)});
  }
}

}  // namespace

Status windowed_qk(const BandProblem& problem, const ConstTensor& q, const ConstTensor& k,
                   float scale, int threads, std::span<float> band) {
  if (Status s = check_problem("windowed_qk", problem, threads, band.size()); !s) return s;
  const std::int64_t tokens = tokens_of(problem);
  if (Status s = check_tensor("q", q, problem.head_dim, q.dtype, tokens); !s) return s;
  if (Status s = check_tensor("k", k, problem.head_dim, q.dtype, tokens); !s) return s;
  const Result<const KernelTable*> kernels = selected_kernels();
  if (!kernels) return tl::unexpected(kernels.error());
  std::atomic<std::int64_t> next{0};
#pragma omp parallel num_threads(threads)
  work_off(problem, (*kernels)->windowed_scores, scale, band.data(), next,
           [&](RowChunk& rows, std::int64_t head) {
             rows.q = head_view(q, head);
             rows.k = head_view(k, head);
           });
  return {};
}

Status windowed_pv(const BandProblem& problem, std::span<const float> band, const ConstTensor& v,
                   int threads, const Tensor& o) {
  if (Status s = check_problem("windowed_pv", problem, threads, band.size()); !s) return s;
  const std::int64_t tokens = tokens_of(problem);
  if (Status s = check_tensor("v", v, problem.head_dim, v.dtype, tokens); !s) return s;
  if (Status s = check_tensor("o", o, problem.head_dim, v.dtype, tokens); !s) return s;
  const Result<const KernelTable*> kernels = selected_kernels();
  if (!kernels) return tl::unexpected(kernels.error());
  // The values step only reads the scores; it shares their type with the steps that write them.
  auto* scores = const_cast<float*>(band.data());
  std::atomic<std::int64_t> next{0};
#pragma omp parallel num_threads(threads)
  work_off(problem, (*kernels)->windowed_values, 1.0f, scores, next,
           [&](RowChunk& rows, std::int64_t head) {
             rows.v = head_view(v, head);
             rows.o = head_view(o, head);
           });
  return {};
}

Status windowed_qk_backward(const BandProblem& problem, std::span<const float> grad_band,
                            const ConstTensor& q, const ConstTensor& k, float scale, int threads,
                            const Tensor& grad_q, const Tensor& grad_k) {
  if (Status s = check_problem("windowed_qk_backward", problem, threads, grad_band.size()); !s) {
    return s;
  }
  const std::int64_t tokens = tokens_of(problem);
  if (Status s = check_tensor("q", q, problem.head_dim, q.dtype, tokens); !s) return s;
  if (Status s = check_tensor("k", k, problem.head_dim, q.dtype, tokens); !s) return s;
  if (Status s = check_tensor("grad_q", grad_q, problem.head_dim, q.dtype, tokens); !s) return s;
  if (Status s = check_tensor("grad_k", grad_k, problem.head_dim, q.dtype, tokens); !s) return s;
  const Result<const KernelTable*> kernels = selected_kernels();
  if (!kernels) return tl::unexpected(kernels.error());
  auto* scores = const_cast<float*>(grad_band.data());  // only read, as in windowed_pv
  std::atomic<std::int64_t> rows_next{0}, keys_next{0};
#pragma omp parallel num_threads(threads)
  {
    work_off(problem, (*kernels)->windowed_values, scale, scores, rows_next,
             [&](RowChunk& rows, std::int64_t head) {
               rows.v = head_view(k, head);
               rows.o = head_view(grad_q, head);
             });
    work_off_transposed(problem, **kernels, grad_band, q, scale, grad_k, keys_next);
  }
  return {};
}

Status windowed_pv_backward(const BandProblem& problem, std::span<const float> band,
                            const ConstTensor& v, const ConstTensor& grad_o, int threads,
                            std::span<float> grad_band, const Tensor& grad_v) {
  if (Status s = check_problem("windowed_pv_backward", problem, threads,
                               std::min(band.size(), grad_band.size()));
      !s) {
    return s;
  }
  const std::int64_t tokens = tokens_of(problem);
  if (Status s = check_tensor("v", v, problem.head_dim, v.dtype, tokens); !s) return s;
  if (Status s = check_tensor("grad_o", grad_o, problem.head_dim, v.dtype, tokens); !s) return s;
  if (Status s = check_tensor("grad_v", grad_v, problem.head_dim, v.dtype, tokens); !s) return s;
  const Result<const KernelTable*> kernels = selected_kernels();
  if (!kernels) return tl::unexpected(kernels.error());
  std::atomic<std::int64_t> rows_next{0}, keys_next{0};
#pragma omp parallel num_threads(threads)
  {
    work_off(problem, (*kernels)->windowed_scores, 1.0f, grad_band.data(), rows_next,
             [&](RowChunk& rows, std::int64_t head) {
               rows.q = head_view(grad_o, head);
               rows.k = head_view(v, head);
             });
    work_off_transposed(problem, **kernels, band, grad_o, 1.0f, grad_v, keys_next);
  }
  return {};
}

}  // namespace attnscope::cpu
