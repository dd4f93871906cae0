// SPDX-License-Identifier: Apache-2.0
//
// The unfused backward: gradients of the weights (the scores step on grad_o and v), of the scores,
// of the queries (the values step on them and k), and of values and keys (transposed products).
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/selected_kernels.h"
#include "kernels/cpu/windowed.h"
#include "kernels/cpu/windowed_steps.h"
#include "kernels/cpu/work_units.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/key_runs.h"

namespace attnscope::cpu {

/// Rows of a task that attend to some keys of a chunk through one segment.
struct KeyPart {
  const Task* task = nullptr;
  const Segment* segment = nullptr;
  std::int64_t first_key = 0;  // positions of the segment's key run
  std::int64_t last_key = 0;
  std::int64_t first_score = 0;  // of the task's first row and head, at the segment's first column
  std::int64_t columns = 0;      // of the task
  std::int64_t first_row = 0;    // of the task's rows
  std::int64_t last_row = 0;
};

/// A portion of the rows that attend to a chunk of keys; the unit of work is one head of it.
struct KeyUnit {
  TokenRange tokens;
  std::int64_t first_part = 0, last_part = 0;  // of the chunk, in the index
  std::int64_t first_pair = 0, last_pair = 0;  // of the portion
  std::int64_t portions = 1;                   // of the chunk
  std::int64_t slot = 0;                       // for the sums of this portion, if there are several
};

/// Index from keys to rows: for each chunk of tokens, the parts of tasks whose rows attend to it,
/// in the plan's order. The gradients of keys and values are summed along it, one chunk and head at
/// a time. A chunk with far more rows than others ([CLS] and the query, to which every document
/// token attends) is divided into portions with separate sums, which are added up in order; the
/// division depends only on the plan.
///
///   KeyIndex index(plan, head_dim, memory.first(KeyIndex::floats(plan, head_dim)));
///   for (std::int64_t unit = 0; unit < index.units(); ++unit) {
///     const KeyUnit keys = index.unit(unit);
///     index.for_each_part(keys, [&](const KeyPart& part) { ... });
///   }
class KeyIndex {
 public:
  /// Floats of the index; too_many (windowed_layout.h) if the number does not fit.
  [[nodiscard]] static std::int64_t floats(const AttentionPlan& plan, std::int64_t head_dim);
  /// Upper bound of the slots for sums of portions.
  [[nodiscard]] static std::int64_t most_slots(const AttentionPlan& plan, std::int64_t head_dim);

  KeyIndex(const AttentionPlan& plan, std::int64_t head_dim, std::span<float> memory);

  [[nodiscard]] std::int64_t units() const { return units_; }
  [[nodiscard]] std::int64_t slots() const { return slots_; }
  [[nodiscard]] KeyUnit unit(std::int64_t number) const;

  template <typename Visit>
  void for_each_part(const KeyUnit& unit, const Visit& visit) const {
    std::int64_t before = 0;
    for (std::int64_t p = unit.first_part; p < unit.last_part; ++p) {
      KeyPart part = this->part(p);
      const std::int64_t pairs = pairs_of(part);
      if (restrict_rows(unit, before, part)) visit(part);
      before += pairs;
    }
  }

 private:
  /// The index entry of a chunk of keys.
  struct Chunk {
    std::int64_t first_part = 0, last_part = 0;
    std::int64_t pairs = 0;
    std::int64_t first_unit = 0, portions = 1;
    std::int64_t first_slot = 0;
  };

  template <typename T>
  [[nodiscard]] static T read(const float* from, std::int64_t i) {
    T value;
    std::memcpy(static_cast<void*>(&value), from + i * floats_of<T>, sizeof(T));
    return value;
  }
  template <typename T>
  static void write(float* to, std::int64_t i, const T& value) {
    std::memcpy(to + i * floats_of<T>, &value, sizeof(T));
  }
  template <typename T>
  static constexpr std::int64_t floats_of = sizeof(T) / sizeof(float);

  [[nodiscard]] Chunk chunk(std::int64_t i) const { return read<Chunk>(chunk_memory_, i); }
  [[nodiscard]] KeyPart part(std::int64_t i) const { return read<KeyPart>(part_memory_, i); }
  static std::int64_t pairs_of(const KeyPart& part);
  static bool restrict_rows(const KeyUnit& unit, std::int64_t before, KeyPart& part);
  template <typename Visit>
  static void for_each_run(const AttentionPlan& plan, std::int64_t chunk_tokens,
                           const Visit& visit);
  void count_parts(std::int64_t portion_pairs);
  void place_parts();

  const AttentionPlan& plan_;
  std::int64_t chunk_tokens_;
  std::int64_t chunks_;
  std::int64_t units_ = 0;
  std::int64_t slots_ = 0;
  float* chunk_memory_;
  float* part_memory_;
};

namespace {

/// Below this many pairs in a portion, adding up its sums costs more than a second core gains.
constexpr std::int64_t smallest_portion = 32768;
/// A portion is at least this share of all pairs, which bounds their number.
constexpr std::int64_t most_portions = 64;

std::int64_t chunks_of(const AttentionPlan& plan, std::int64_t head_dim) {
  return (plan.tokens + chunk_rows(head_dim) - 1) / chunk_rows(head_dim);
}

/// The tokens of the segment's run to which at least one row of the task attends, gaps included.
TokenRange seen_by_task(const AttentionPlan& plan, const Task& task, const Segment& segment) {
  return reach_of(hull_of(plan, segment.keys), segment, hull_of(plan, task.queries));
}

/// Most rows that attend to one key.
std::int64_t rows_of_key(const Task& task, const Segment& segment) {
  const std::int64_t rows = task.queries.size();
  if (segment.kind == SegmentKind::whole || segment.window >= rows) return rows;
  return segment.kind == SegmentKind::band ? std::min(rows, 2 * segment.window + 1)
                                           : segment.window;
}

/// Pairs of all parts, counted like pairs_of; at most too_many.
std::int64_t all_pairs(const AttentionPlan& plan) {
  std::int64_t pairs = 0;
  for (const Task& task : plan.tasks) {
    for (const Segment& segment : plan.segments_of(task)) {
      const std::int64_t keys =
          segment.keys.listed ? segment.keys.size() : seen_by_task(plan, task, segment).size();
      std::int64_t of_segment = 0;
      if (__builtin_mul_overflow(keys, rows_of_key(task, segment), &of_segment) ||
          __builtin_add_overflow(pairs, of_segment, &pairs)) {
        return too_many;
      }
    }
  }
  return pairs;
}

/// More than twice a chunk's mean, so that only outliers are divided.
std::int64_t portion_pairs_of(const AttentionPlan& plan, std::int64_t head_dim) {
  const std::int64_t pairs = all_pairs(plan);
  const std::int64_t chunks = std::max<std::int64_t>(1, chunks_of(plan, head_dim));
  return std::max({smallest_portion, pairs / chunks * 2, pairs / most_portions});
}

}  // namespace

/// Calls visit(chunk, task, segment, first column, first key, last key) for every chunk with keys
/// to which rows of a task attend through a segment.
template <typename Visit>
void KeyIndex::for_each_run(const AttentionPlan& plan, std::int64_t chunk_tokens,
                            const Visit& visit) {
  for (const Task& task : plan.tasks) {
    if (rows_of(task) <= 0) continue;
    std::int64_t column = 0;
    for (const Segment& segment : plan.segments_of(task)) {
      const TokenRun& keys = segment.keys;
      TokenRange rest{keys.begin, keys.end};
      if (!keys.listed) rest = seen_by_task(plan, task, segment);
      while (!rest.empty()) {
        const std::int64_t chunk =
            (keys.listed ? plan.token_at({0, 0, true}, rest.begin) : rest.begin) / chunk_tokens;
        std::int64_t end = std::min(rest.end, (chunk + 1) * chunk_tokens);
        if (keys.listed) {
          const auto places = std::span(plan.indices)
                                  .subspan(static_cast<std::size_t>(rest.begin),
                                           static_cast<std::size_t>(rest.size()));
          end = rest.begin +
                static_cast<std::int64_t>(within(places, {0, (chunk + 1) * chunk_tokens}).size());
        }
        visit(chunk, task, segment, column, rest.begin, end);
        rest.begin = end;
      }
      column += columns_of(segment);
    }
  }
}

std::int64_t KeyIndex::pairs_of(const KeyPart& part) {
  return (part.last_key - part.first_key) * rows_of_key(*part.task, *part.segment);
}

std::int64_t KeyIndex::floats(const AttentionPlan& plan, std::int64_t head_dim) {
  std::int64_t parts = 0;
  for_each_run(plan, chunk_rows(head_dim),
               [&](std::int64_t, const Task&, const Segment&, std::int64_t, std::int64_t,
                   std::int64_t) { ++parts; });
  return chunks_of(plan, head_dim) * floats_of<Chunk> + parts * floats_of<KeyPart>;
}

std::int64_t KeyIndex::most_slots(const AttentionPlan& plan, std::int64_t head_dim) {
  // A chunk is divided into as many portions as portion_pairs fit its pairs, if that is 2 or more.
  const std::int64_t portions = all_pairs(plan) / portion_pairs_of(plan, head_dim);
  return portions < 2 ? 0 : portions;
}

KeyIndex::KeyIndex(const AttentionPlan& plan, std::int64_t head_dim, std::span<float> memory)
    : plan_(plan),
      chunk_tokens_(chunk_rows(head_dim)),
      chunks_(chunks_of(plan, head_dim)),
      chunk_memory_(memory.data()),
      part_memory_(memory.data() + chunks_ * floats_of<Chunk>) {
  count_parts(portion_pairs_of(plan, head_dim));
  place_parts();
}

void KeyIndex::count_parts(std::int64_t portion_pairs) {
  for (std::int64_t i = 0; i < chunks_; ++i) write(chunk_memory_, i, Chunk{});
  for_each_run(plan_, chunk_tokens_,
               [&](std::int64_t i, const Task& task, const Segment& segment, std::int64_t,
                   std::int64_t first_key, std::int64_t last_key) {
                 Chunk c = chunk(i);
                 ++c.last_part;
                 c.pairs += (last_key - first_key) * rows_of_key(task, segment);
                 write(chunk_memory_, i, c);
               });
  std::int64_t parts = 0;
  for (std::int64_t i = 0; i < chunks_; ++i) {
    Chunk c = chunk(i);
    const std::int64_t count = c.last_part;
    // last_part counts up again as the parts are placed.
    c.first_part = c.last_part = parts;
    c.first_unit = units_;
    c.first_slot = slots_;
    c.portions = std::max<std::int64_t>(1, c.pairs / portion_pairs);
    write(chunk_memory_, i, c);
    parts += count;
    units_ += c.portions;
    if (c.portions > 1) slots_ += c.portions;
  }
}

void KeyIndex::place_parts() {
  ScoreCursor scores(plan_);
  for_each_run(plan_, chunk_tokens_,
               [&](std::int64_t i, const Task& task, const Segment& segment, std::int64_t column,
                   std::int64_t first_key, std::int64_t last_key) {
                 Chunk c = chunk(i);
                 write(part_memory_, c.last_part++,
                       KeyPart{.task = &task,
                               .segment = &segment,
                               .first_key = first_key,
                               .last_key = last_key,
                               .first_score = scores.seek(task) + column,
                               .columns = columns_of(plan_, task),
                               .first_row = 0,
                               .last_row = task.queries.size()});
                 write(chunk_memory_, i, c);
               });
}

KeyUnit KeyIndex::unit(std::int64_t number) const {
  std::int64_t low = 0, high = chunks_ - 1;
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    if (chunk(middle).first_unit <= number) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  const Chunk c = chunk(low);
  const std::int64_t portion = number - c.first_unit;
  const std::int64_t pairs = (c.pairs + c.portions - 1) / c.portions;
  return {.tokens = {low * chunk_tokens_, std::min((low + 1) * chunk_tokens_, plan_.tokens)},
          .first_part = c.first_part,
          .last_part = c.last_part,
          .first_pair = portion * pairs,
          .last_pair = (portion + 1) * pairs,
          .portions = c.portions,
          .slot = c.first_slot + portion};
}

/// Restricts `part`, before which its chunk has `before` pairs, to the rows of the unit's portion.
/// Only whole segments are divided; others belong to the portion in which they begin.
bool KeyIndex::restrict_rows(const KeyUnit& unit, std::int64_t before, KeyPart& part) {
  if (unit.portions == 1) return true;
  if (part.segment->kind != SegmentKind::whole) {
    return unit.first_pair <= before && before < unit.last_pair;
  }
  const std::int64_t keys = part.last_key - part.first_key;
  const auto row_at = [&](std::int64_t pair) {
    return std::clamp<std::int64_t>((pair - before + keys - 1) / keys, 0, part.last_row);
  };
  part.first_row = row_at(unit.first_pair);
  part.last_row = row_at(unit.last_pair);
  return part.first_row < part.last_row;
}

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
  float* slots;  // for the sums of portions

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

/// Processes chunks of keys, or portions of their rows, until none are left.
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

/// Adds up the portions of divided chunks, once all are complete.
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
        "windowed_backward got {} weights and needs {}; pass the workspace that windowed_forward "
        "wrote",
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
