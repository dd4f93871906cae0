// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/longformer_banded/on_cpu.h"

#include <algorithm>

#include "engine/attention/longformer_banded/loops.h"
#include "kernels/cpu/instruction_set.h"

// All loops are inlined into the functions that stand for one instruction set each.
#if defined(__x86_64__)
#define ATTNSCOPE_FOR_AVX2 __attribute__((target("avx2,fma"), flatten))
#else
#define ATTNSCOPE_FOR_AVX2 __attribute__((flatten))
#endif

namespace attnscope::longformer_banded {
namespace {

// A thread's next piece: enough work to be worth taking, few enough rows to share them evenly.
constexpr std::int64_t piece_tokens = 16;

__attribute__((flatten)) void take_rows_anywhere(const RowStep& step, const RowPiece& piece) {
  take_rows(step, piece);
}
ATTNSCOPE_FOR_AVX2 void take_rows_with_avx2(const RowStep& step, const RowPiece& piece) {
  take_rows(step, piece);
}
__attribute__((flatten)) void take_keys_anywhere(const KeyStep& step, const KeyPiece& piece) {
  take_keys(step, piece);
}
ATTNSCOPE_FOR_AVX2 void take_keys_with_avx2(const KeyStep& step, const KeyPiece& piece) {
  take_keys(step, piece);
}

struct Loops {
  void (*rows)(const RowStep&, const RowPiece&);
  void (*keys)(const KeyStep&, const KeyPiece&);
};

Result<Loops> selected_loops() {
  const Result<cpu::InstructionSet> set = cpu::selected_set();
  if (!set) return tl::unexpected(set.error());
  if (*set == cpu::InstructionSet::baseline) return Loops{take_rows_anywhere, take_keys_anywhere};
  return Loops{take_rows_with_avx2, take_keys_with_avx2};
}

std::int64_t pieces_of(std::int64_t tokens) {
  return (tokens + piece_tokens - 1) / piece_tokens;
}

}  // namespace

Pieces::Place Pieces::find(std::int64_t number) const {
  const auto next = std::ranges::upper_bound(firsts_, number);
  const auto entry = next - firsts_.begin() - 1;
  return {static_cast<std::size_t>(entry), number - *(next - 1)};
}

/// One call's passes: all threads share the pieces of each.
class BandOnCpu::Passes {
 public:
  Passes(const BandOnCpu& band, const Loops& loops, float* scores)
      : band_(band), loops_(loops), scores_(scores) {}

  void rows(const RowStep& step) const {
#pragma omp for schedule(dynamic)
    for (std::int64_t number = 0; number < band_.row_pieces_.count(); ++number) {
      loops_.rows(step, row_piece(number));
    }
  }

  void keys(const KeyStep& step) const {
#pragma omp for schedule(dynamic)
    for (std::int64_t number = 0; number < band_.key_pieces_.count(); ++number) {
      loops_.keys(step, key_piece(number));
    }
  }

 private:
  [[nodiscard]] RowPiece row_piece(std::int64_t number) const {
    const auto [t, piece] = band_.row_pieces_.find(number);
    const Task& task = band_.plan_.tasks[t];
    const std::int64_t rows = task.queries.size(), of_head = pieces_of(rows);
    const std::int64_t local_head = piece / of_head, first = piece % of_head * piece_tokens;
    const std::int64_t columns = columns_of(band_.plan_, task);
    return {.plan = band_.plan_,
            .task = task,
            .head = task.heads.begin + local_head,
            .first_row = first,
            .last_row = std::min(first + piece_tokens, rows),
            .scores = scores_ + band_.first_scores_[t] + (local_head * rows + first) * columns,
            .columns = columns};
  }

  [[nodiscard]] KeyPiece key_piece(std::int64_t number) const {
    const auto [r, piece] = band_.key_pieces_.find(number);
    const KeyRun& run = band_.keys_.runs[r];
    const std::int64_t of_head = pieces_of(run.keys.size());
    const std::int64_t first = run.keys.begin + piece % of_head * piece_tokens;
    return {.plan = band_.plan_,
            .run = run,
            .views = std::span(band_.keys_.views)
                         .subspan(static_cast<std::size_t>(run.first_view),
                                  static_cast<std::size_t>(run.view_count)),
            .head = run.first_head + piece / of_head,
            .keys = {first, std::min(first + piece_tokens, run.keys.end)},
            .scores = scores_,
            .first_scores = band_.first_scores_};
  }

  const BandOnCpu& band_;
  const Loops& loops_;
  float* scores_;
};

BandOnCpu::BandOnCpu(const AttentionPlan& plan, attnscope::Passes passes) : plan_(plan) {
  std::int64_t scores = 0;
  for (const Task& task : plan.tasks) {
    first_scores_.push_back(scores);
    scores += rows_of(task) * columns_of(plan, task);
    row_pieces_.add((task.heads.end - task.heads.begin) * pieces_of(task.queries.size()));
  }
  if (passes == attnscope::Passes::forward) return;
  keys_ = key_runs_of(plan);
  for (const KeyRun& run : keys_.runs) key_pieces_.add(run.heads * pieces_of(run.keys.size()));
}

Status BandOnCpu::forward(const BandCall& call, const BandInputs& inputs, const Tensor& o,
                          std::span<float> lse) const {
  const Result<Loops> loops = selected_loops();
  if (!loops) return tl::unexpected(loops.error());
  const Passes passes(*this, *loops, call.scores);
  const bool softmax = call.weighting == Weighting::softmax;
  const RowStep scores{.kind = RowStep::Kind::scores,
                       .x = inputs.q,
                       .y = inputs.k,
                       .scale = call.scale,
                       .softmax = softmax};
  const RowStep normalize{.kind = RowStep::Kind::softmax, .lse = lse};
  const RowStep values{.kind = RowStep::Kind::values, .y = inputs.v, .out = o};
#pragma omp parallel num_threads(call.threads)
  {
    passes.rows(scores);
    if (softmax) passes.rows(normalize);
    passes.rows(values);
  }
  return {};
}

Status BandOnCpu::backward(const BandCall& call, const GradientTensors& tensors) const {
  const Result<Loops> loops = selected_loops();
  if (!loops) return tl::unexpected(loops.error());
  const Passes passes(*this, *loops, call.scores);
  const KeyStep grad_v{.x = tensors.grad_o, .out = tensors.grad_v};
  const RowStep score_gradients{.kind = RowStep::Kind::score_gradients,
                                .x = tensors.grad_o,
                                .y = tensors.v,
                                .o = tensors.o,
                                .softmax = call.weighting == Weighting::softmax};
  const RowStep grad_q{
      .kind = RowStep::Kind::values, .y = tensors.k, .out = tensors.grad_q, .scale = call.scale};
  const KeyStep grad_k{.x = tensors.q, .out = tensors.grad_k, .scale = call.scale};
#pragma omp parallel num_threads(call.threads)
  {
    passes.keys(grad_v);
    passes.rows(score_gradients);
    passes.rows(grad_q);
    passes.keys(grad_k);
  }
  return {};
}

}  // namespace attnscope::longformer_banded
