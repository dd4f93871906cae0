// SPDX-License-Identifier: Apache-2.0
//
// Divides a plan into units of work for the fused kernel. A unit is the work of the tasks of one
// item on a stretch of its tokens for a few heads: the rows in the stretch and, for rows that
// attend to the whole item ([CLS]), the keys in the stretch. A stretch's keys and values are
// therefore fetched from memory once, and a short item is one unit. The division depends only on
// the plan and the head dimension.
#include "kernels/cpu/segment.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>

#include "kernels/cpu/selected_kernels.h"
#include "kernels/cpu/work_units.h"

namespace attnscope::cpu {

/// Most tasks of a unit; an item with more tasks has several groups of units.
inline constexpr std::size_t most_tasks_together = 16;

/// One unit: for tasks [first_task, last_task), the chunks of rows that begin among `tokens`, and
/// the `number`-th of `count` parts of split keys, for heads [first_head, last_head).
struct Stretch {
  std::size_t first_task = 0;
  std::size_t last_task = 0;
  TokenRange tokens{};
  std::int64_t number = 0;
  std::int64_t count = 1;
  std::int64_t first_head = 0;
  std::int64_t last_head = 0;
};

/// Chunks [begin, end) of a task: of its keys if these are split, else of its rows.
struct ChunkRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

[[nodiscard]] ChunkRange chunks_of(const AttentionPlan& plan, const Task& task, const TaskCut& cut,
                                   const Stretch& stretch);

/// Finds units by ascending number: threads draw numbers from a common counter, so each traverses
/// the task list once and no list of units is stored.
class StretchCursor {
 public:
  StretchCursor(const AttentionPlan& plan, std::int64_t head_dim);
  /// Returns false beyond the last unit. `number` must not be below that of the previous call.
  [[nodiscard]] bool seek(std::int64_t number, Stretch& stretch);

  /// The division of a task of the current stretch, and the floats of partial results of all
  /// preceding tasks.
  [[nodiscard]] const TaskCut& cut(std::size_t task) const { return cuts_[task - first_task_]; }
  [[nodiscard]] std::int64_t partials_before(std::size_t task) const {
    return partials_before_[task - first_task_];
  }

 private:
  void enter_group(std::size_t first_task, std::int64_t partials_before);

  const AttentionPlan& plan_;
  std::int64_t head_dim_;
  std::size_t first_task_ = 0;
  std::size_t last_task_ = 0;
  std::array<TaskCut, most_tasks_together> cuts_;
  std::array<std::int64_t, most_tasks_together + 1> partials_before_{};
  std::int64_t first_token_ = 0;
  std::int64_t stretch_tokens_ = 1;
  std::int64_t stretches_ = 0;
  std::int64_t heads_per_unit_ = 1;
  std::int64_t head_groups_ = 0;
  std::int64_t units_before_ = 0;
};

namespace {

std::int64_t divided_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// The first chunk of rows whose first token is at least `token`: tokens ascend with rows.
std::int64_t first_chunk_from(const AttentionPlan& plan, const Task& task, const TaskCut& cut,
                              std::int64_t token) {
  std::int64_t begin = 0, end = cut.row_chunks;
  while (begin < end) {
    const std::int64_t middle = begin + (end - begin) / 2;
    if (plan.token_at(task.queries, middle * cut.rows_per_chunk) < token) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

bool belong_together(const Task& a, const Task& b) {
  return a.item == b.item && a.heads.begin == b.heads.begin && a.heads.end == b.heads.end;
}

}  // namespace

ChunkRange chunks_of(const AttentionPlan& plan, const Task& task, const TaskCut& cut,
                     const Stretch& stretch) {
  if (cut.is_split()) {
    return {divided_up(stretch.number * cut.key_chunks, stretch.count),
            divided_up((stretch.number + 1) * cut.key_chunks, stretch.count)};
  }
  return {first_chunk_from(plan, task, cut, stretch.tokens.begin),
          first_chunk_from(plan, task, cut, stretch.tokens.end)};
}

StretchCursor::StretchCursor(const AttentionPlan& plan, std::int64_t head_dim)
    : plan_(plan), head_dim_(head_dim) {
  enter_group(0, 0);
}

void StretchCursor::enter_group(std::size_t first_task, std::int64_t partials_before) {
  first_task_ = last_task_ = first_task;
  partials_before_[0] = partials_before;
  std::int64_t end_token = 0, pairs = 0, longest_chunk = 0;
  first_token_ = std::numeric_limits<std::int64_t>::max();
  while (last_task_ < plan_.tasks.size() && last_task_ - first_task_ < most_tasks_together) {
    const Task& task = plan_.tasks[last_task_];
    if (!belong_together(task, plan_.tasks[first_task_])) break;
    const std::size_t place = last_task_ - first_task_;
    const TaskCut cut = cut_of(plan_, task, head_dim_, KeyCut::of_long_rows);
    cuts_[place] = cut;
    partials_before_[place + 1] = partials_before_[place] + cut.partial_floats(head_dim_);
    if (cut.rows > 0) {
      first_token_ = std::min(first_token_, plan_.token_at(task.queries, 0));
      end_token = std::max(end_token, plan_.token_at(task.queries, cut.rows - 1) + 1);
    }
    pairs += cut.pairs;
    if (cut.chunks() > 1) {
      longest_chunk =
          std::max(longest_chunk, cut.is_split() ? cut.keys_per_chunk : cut.rows_per_chunk);
    }
    ++last_task_;
  }
  stretches_ = 0;
  head_groups_ = 0;
  if (first_token_ >= end_token) return;
  const std::int64_t tokens = end_token - first_token_;
  stretch_tokens_ = longest_chunk == 0 ? tokens : longest_chunk;
  stretches_ = divided_up(tokens, stretch_tokens_);
  const Task& task = plan_.tasks[first_task_];
  const std::int64_t heads = task.heads.end - task.heads.begin;
  heads_per_unit_ = heads_worthwhile(heads, pairs / stretches_);
  head_groups_ = divided_up(heads, heads_per_unit_);
}

bool StretchCursor::seek(std::int64_t number, Stretch& stretch) {
  while (first_task_ < plan_.tasks.size() && number >= units_before_ + stretches_ * head_groups_) {
    units_before_ += stretches_ * head_groups_;
    enter_group(last_task_, partials_before_[last_task_ - first_task_]);
  }
  if (first_task_ >= plan_.tasks.size()) return false;
  // Heads vary fastest: in token-major memory the heads of the same rows are adjacent.
  const std::int64_t group = (number - units_before_) % head_groups_;
  const std::int64_t at = (number - units_before_) / head_groups_;
  const Task& task = plan_.tasks[first_task_];
  stretch.first_task = first_task_;
  stretch.last_task = last_task_;
  stretch.tokens = {first_token_ + at * stretch_tokens_, first_token_ + (at + 1) * stretch_tokens_};
  stretch.number = at;
  stretch.count = stretches_;
  stretch.first_head = task.heads.begin + group * heads_per_unit_;
  stretch.last_head = std::min<std::int64_t>(stretch.first_head + heads_per_unit_, task.heads.end);
  return true;
}

namespace {

constexpr std::int64_t alignment = 64;

std::int64_t partial_floats(const AttentionPlan& plan, std::int64_t head_dim) {
  std::int64_t floats = 0;
  for (const Task& task : plan.tasks)
    floats += cut_of(plan, task, head_dim, KeyCut::of_long_rows).partial_floats(head_dim);
  return floats;
}

/// Scratch of one thread, rounded so that every thread's scratch is aligned.
std::int64_t thread_floats(std::int64_t head_dim) {
  constexpr std::int64_t unit = alignment / static_cast<std::int64_t>(sizeof(float));
  return (scratch_floats(head_dim) + unit - 1) / unit * unit;
}

struct Call {
  const AttentionPlan& plan;
  const ConstTensor &q, &k, &v;
  const Tensor& o;
  std::span<float> lse;
  float scale;
  const KernelTable& kernels;
  float* partials;

  [[nodiscard]] float* lse_of(std::int64_t head) const {
    return lse.empty() ? nullptr : lse.data() + head;
  }
  /// Partial result of key chunk `chunk` of a split task's head.
  [[nodiscard]] float* partial(const TaskCut& cut, std::int64_t before, std::int64_t head_of_task,
                               std::int64_t chunk) const {
    return partials + before +
           (head_of_task * cut.key_chunks + chunk) * cut.rows * (o.head_dim + 2);
  }
};

/// A chunk of a task: of its keys if they are split, else of its rows.
void run_chunk(const Call& call, const Task& task, const TaskCut& cut, std::int64_t partials_before,
               std::int64_t head, std::int64_t number, float* scratch) {
  const std::int64_t first_row = cut.is_split() ? 0 : number * cut.rows_per_chunk;
  const std::int64_t last_row = std::min(first_row + cut.rows_per_chunk, cut.rows);
  SegmentChunk chunk{};
  chunk.rows = {.q = head_view(call.q, head),
                .k = head_view(call.k, head),
                .v = head_view(call.v, head),
                .o = head_view(call.o, head),
                .indices = call.plan.indices.data(),
                .segments = call.plan.segments_of(task).data(),
                .segment_count = task.segment_count,
                .queries = part_of(task.queries, first_row, last_row),
                .head_dim = call.o.head_dim,
                .scale = call.scale * static_cast<float>(log2_e),
                .lse = call.lse_of(head),
                .lse_stride = call.plan.heads};
  chunk.tile_keys = cut.whole_tiles ? tile_keys(call.o.head_dim) : 0;
  if (cut.is_split()) {
    chunk.first_key = number * cut.keys_per_chunk;
    chunk.last_key = chunk.first_key + cut.keys_per_chunk;
    chunk.partial = call.partial(cut, partials_before, head - task.heads.begin, number);
  }
  chunk.scratch = scratch;
  call.kernels.segment_chunk(chunk);
}

/// One head after another, so that all tasks find a head's keys and values in the caches.
void run_stretch(const Call& call, const StretchCursor& cursor, const Stretch& stretch,
                 float* scratch) {
  std::array<ChunkRange, most_tasks_together> chunks;
  for (std::size_t t = stretch.first_task; t < stretch.last_task; ++t) {
    chunks[t - stretch.first_task] =
        chunks_of(call.plan, call.plan.tasks[t], cursor.cut(t), stretch);
  }
  for (std::int64_t head = stretch.first_head; head < stretch.last_head; ++head) {
    for (std::size_t t = stretch.last_task; t-- > stretch.first_task;) {
      const ChunkRange& range = chunks[t - stretch.first_task];
      for (std::int64_t c = range.begin; c < range.end; ++c) {
        run_chunk(call, call.plan.tasks[t], cursor.cut(t), cursor.partials_before(t), head, c,
                  scratch);
      }
    }
  }
}

/// Merges the key chunks of one row, in order.
void merge_row(const Call& call, const Task& task, const TaskCut& cut, std::int64_t before,
               std::int64_t head, std::int64_t row) {
  const std::int64_t d = call.o.head_dim;
  const auto part = [&](std::int64_t chunk) {
    return call.partial(cut, before, head - task.heads.begin, chunk) + row * (d + 2);
  };
  float m = -std::numeric_limits<float>::infinity();
  for (std::int64_t c = 0; c < cut.key_chunks; ++c) m = std::max(m, part(c)[d]);
  const std::int64_t token = call.plan.token_at(task.queries, row);
  std::array<float, largest_head_dim> o{};
  float sum = 0.0f;
  for (std::int64_t c = 0; c < cut.key_chunks; ++c) {
    const float* p = part(c);
    if (p[d + 1] == 0.0f) continue;
    const float factor = std::exp2(p[d] - m);
    sum += factor * p[d + 1];
    for (std::int64_t x = 0; x < d; ++x) o[static_cast<std::size_t>(x)] += factor * p[x];
  }
  const float inverse = sum == 0.0f ? 0.0f : 1.0f / sum;
  call.kernels.store_row(o.data(), d, inverse, head_view(call.o, head), call.o.offset(token, 0));
  if (call.lse.empty()) return;
  call.lse[static_cast<std::size_t>(token * call.plan.heads + head)] =
      sum == 0.0f ? -std::numeric_limits<float>::infinity()
                  : static_cast<float>(ln_2) * (m + std::log2(sum));
}

/// Merges every `threads`-th of the split rows, starting at `thread`.
void merge_split_rows(const Call& call, std::int64_t thread, std::int64_t threads) {
  std::int64_t before = 0;
  std::int64_t turn = 0;
  for (const Task& task : call.plan.tasks) {
    const TaskCut cut = cut_of(call.plan, task, call.o.head_dim, KeyCut::of_long_rows);
    if (!cut.is_split()) continue;
    for (std::int64_t head = task.heads.begin; head < task.heads.end; ++head) {
      for (std::int64_t row = 0; row < cut.rows; ++row) {
        if (turn++ % threads == thread) merge_row(call, task, cut, before, head, row);
      }
    }
    before += cut.partial_floats(call.o.head_dim);
  }
}

void run(const Call& call, int threads, bool has_split_rows, float* scratch) {
  const std::int64_t scratch_size = thread_floats(call.o.head_dim);
  std::atomic<std::int64_t> next{0};
#pragma omp parallel num_threads(threads)
  {
    StretchCursor cursor(call.plan, call.o.head_dim);
    Stretch stretch;
    float* mine = scratch + omp_get_thread_num() * scratch_size;
    while (cursor.seek(next.fetch_add(1, std::memory_order_relaxed), stretch)) {
      run_stretch(call, cursor, stretch, mine);
    }
#pragma omp barrier
    if (has_split_rows) merge_split_rows(call, omp_get_thread_num(), omp_get_num_threads());
  }
}

Status check_call(const AttentionPlan& plan, const ConstTensor& q, const ConstTensor& k,
                  const ConstTensor& v, const Tensor& o, std::span<const float> lse, int threads,
                  std::int64_t workspace_bytes) {
  if (Status s = segment_supports(plan, q.head_dim); !s) return s;
  if (Status s = check_attention_call("segment_forward", plan, q, k, v, o, lse, threads); !s)
    return s;
  const std::int64_t needed = segment_workspace_bytes(plan, q.head_dim, threads);
  if (workspace_bytes < needed) {
    return fail("The workspace has {} bytes; segment_forward needs {} (segment_workspace_bytes)",
                workspace_bytes, needed);
  }
  return {};
}

}  // namespace

Status segment_supports(const AttentionPlan& plan, std::int64_t head_dim) {
  if (Status s = check_operands("Segment attention", head_dim); !s) return s;
  for (const Segment& segment : plan.segments) {
    if (segment.kind == SegmentKind::block && segment.window < 1) {
      return fail("The plan has blocks of {} tokens; a block has at least 1", segment.window);
    }
    if (segment.kind == SegmentKind::band && segment.window < 0) {
      return fail("The plan has a band of half-width {}; it must be at least 0", segment.window);
    }
  }
  return {};
}

std::int64_t segment_workspace_bytes(const AttentionPlan& plan, std::int64_t head_dim,
                                     int threads) {
  if (head_dim < 1 || head_dim > largest_head_dim || threads < 1) return 0;
  const std::int64_t floats = threads * thread_floats(head_dim) + partial_floats(plan, head_dim);
  return floats * static_cast<std::int64_t>(sizeof(float)) + alignment;
}

Status segment_forward(const AttentionPlan& plan, const ConstTensor& q, const ConstTensor& k,
                       const ConstTensor& v, float scale, const Tensor& o, std::span<float> lse,
                       int threads, std::span<std::byte> workspace) {
  if (Status s =
          check_call(plan, q, k, v, o, lse, threads, static_cast<std::int64_t>(workspace.size()));
      !s) {
    return s;
  }
  const Result<const KernelTable*> kernels = selected_kernels();
  if (!kernels) return tl::unexpected(kernels.error());
  void* memory = workspace.data();
  std::size_t space = workspace.size();
  std::align(alignment, 1, memory, space);
  auto* scratch = static_cast<float*>(memory);
  const Call call{
      plan, q, k, v, o, lse, scale, **kernels, scratch + threads * thread_floats(q.head_dim)};
  run(call, threads, partial_floats(plan, q.head_dim) > 0, scratch);
  return {};
}

}  // namespace attnscope::cpu
