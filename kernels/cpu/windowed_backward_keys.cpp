// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/windowed_backward_keys.h"

#include <algorithm>

#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/windowed_layout.h"
#include "kernels/cpu/work_units.h"
#include "kernels/plan/key_runs.h"

namespace attnscope::cpu {
namespace {

/// Pairs of a portion below which adding up its sums costs more than a second core brings.
constexpr std::int64_t smallest_portion = 32768;
/// A portion is at least this share of all pairs, which bounds their number.
constexpr std::int64_t most_portions = 64;

std::int64_t chunks_of(const AttentionPlan& plan, std::int64_t head_dim) {
  return (plan.tokens + chunk_rows(head_dim) - 1) / chunk_rows(head_dim);
}

/// The tokens of the segment's run that at least one row of the task sees, gaps included.
TokenRange seen_by_task(const AttentionPlan& plan, const Task& task, const Segment& segment) {
  return reach_of(hull_of(plan, segment.keys), segment, hull_of(plan, task.queries));
}

/// Rows that see one key at most.
std::int64_t rows_of_key(const Task& task, const Segment& segment) {
  const std::int64_t rows = task.queries.size();
  if (segment.kind == SegmentKind::whole || segment.window >= rows) return rows;
  return segment.kind == SegmentKind::band ? std::min(rows, 2 * segment.window + 1)
                                           : segment.window;
}

/// Pairs of all parts, as pairs_of counts them; at most too_many.
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

/// More than twice a chunk's mean, so that only chunks that stand out are cut.
std::int64_t portion_pairs_of(const AttentionPlan& plan, std::int64_t head_dim) {
  const std::int64_t pairs = all_pairs(plan);
  const std::int64_t chunks = std::max<std::int64_t>(1, chunks_of(plan, head_dim));
  return std::max({smallest_portion, pairs / chunks * 2, pairs / most_portions});
}

}  // namespace

/// Calls visit(chunk, task, segment, first column, first key, last key) for every chunk that holds
/// keys which rows of a task see through a segment.
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
  // A chunk is cut into as many portions as portion_pairs fit its pairs, if that is 2 or more.
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

/// Cuts `part`, before which its chunk has `before` pairs, down to the rows of the unit's portion.
/// Only whole segments are cut; others belong to the portion in which they begin.
bool KeyIndex::take_rows(const KeyUnit& unit, std::int64_t before, KeyPart& part) {
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

}  // namespace attnscope::cpu
