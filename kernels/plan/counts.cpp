// SPDX-License-Identifier: Apache-2.0
#include "kernels/plan/counts.h"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include "kernels/plan/key_runs.h"

namespace attnscope {
namespace {

constexpr TokenRange everything{0, std::numeric_limits<std::int64_t>::max() / 4};

/// sum over y <= x of clamp(y, 0, limit).
std::int64_t clamped_sum(std::int64_t x, std::int64_t limit) {
  if (x <= 0) return 0;
  if (x <= limit) return x * (x + 1) / 2;
  return limit * (limit + 1) / 2 + (x - limit) * limit;
}

/// Pairs (i, j) of `opposite` x `keys` with j - i <= most.
std::int64_t pairs_up_to(TokenRange opposite, TokenRange keys, std::int64_t most) {
  const std::int64_t first = opposite.begin + most - keys.begin + 1;
  const std::int64_t last = opposite.end - 1 + most - keys.begin + 1;
  return clamped_sum(last, keys.size()) - clamped_sum(first - 1, keys.size());
}

/// Pairs (i, j) of `opposite` x `keys` with |j - i| <= w: a band clipped at the corners.
std::int64_t band_pairs(TokenRange opposite, TokenRange keys, std::int64_t w) {
  if (opposite.empty() || keys.empty()) return 0;
  // No two tokens are farther apart than this, so a wider band has the same pairs.
  const std::int64_t widest =
      std::max(opposite.end, keys.end) - std::min(opposite.begin, keys.begin);
  w = std::min(w, widest);
  return pairs_up_to(opposite, keys, w) - pairs_up_to(opposite, keys, -w - 1);
}

/// Pairs of `opposite` x `keys`, both inside `hull`, that are in the same block. Every block
/// between the first and the last that both touch is wholly inside both.
std::int64_t block_pairs(TokenRange hull, TokenRange opposite, TokenRange keys,
                         std::int64_t length) {
  if (opposite.empty() || keys.empty()) return 0;
  const std::int64_t low = (std::max(opposite.begin, keys.begin) - hull.begin) / length;
  const std::int64_t high = (std::min(opposite.end, keys.end) - 1 - hull.begin) / length;
  if (low > high) return 0;
  const auto of_block = [&](std::int64_t b) {
    const TokenRange block{hull.begin + b * length, hull.begin + (b + 1) * length};
    return intersect(opposite, block).size() * intersect(keys, block).size();
  };
  if (low == high) return of_block(low);
  return of_block(low) + of_block(high) + (high - low - 1) * length * length;
}

std::int64_t rows_in(const AttentionPlan& plan, const TokenRun& run, TokenRange range) {
  if (run.listed) return static_cast<std::int64_t>(within(listed_tokens(plan, run), range).size());
  return intersect({run.begin, run.end}, range).size();
}

/// Pairs of contiguous `rows` with single keys, each visible to the rows whose window contains it.
std::int64_t pairs_with(std::span<const std::int64_t> keys, TokenRange hull, const Segment& segment,
                        TokenRange rows) {
  std::int64_t pairs = 0;
  for (const std::int64_t key : keys) {
    pairs += intersect(rows, rows_seeing(hull, segment, key)).size();
  }
  return pairs;
}

/// Pairs of a contiguous run of rows with a band or block segment's keys within `keys`.
std::int64_t pairs_of_range(const AttentionPlan& plan, const Segment& segment, TokenRange rows,
                            TokenRange keys) {
  const TokenRange hull = hull_of(plan, segment.keys);
  const TokenRange reached = intersect(keys, reach_of(hull, segment, rows));
  const std::int64_t skipped =
      pairs_with(within(plan.skipped_of(segment), reached), hull, segment, rows);
  if (segment.keys.listed) {
    const auto listed = within(listed_tokens(plan, segment.keys), reached);
    return pairs_with(listed, hull, segment, rows) - skipped;
  }
  const TokenRange opposite{rows.begin + segment.offset, rows.end + segment.offset};
  if (segment.kind == SegmentKind::band) {
    return band_pairs(opposite, reached, segment.window) - skipped;
  }
  const std::int64_t length = std::min(segment.window, hull.size());
  return block_pairs(hull, intersect(opposite, hull), reached, length) - skipped;
}

std::int64_t segment_pairs(const AttentionPlan& plan, const Segment& segment,
                           const TokenRun& queries, TokenRange rows, TokenRange keys) {
  if (segment.kind == SegmentKind::whole) {
    return rows_in(plan, queries, rows) * count_keys_within(plan, segment, keys);
  }
  if (!queries.listed) {
    return pairs_of_range(plan, segment, intersect({queries.begin, queries.end}, rows), keys);
  }
  const TokenRange hull = hull_of(plan, segment.keys);
  std::int64_t pairs = 0;
  for (const std::int64_t query : within(listed_tokens(plan, queries), rows)) {
    const TokenRange seen = intersect(keys, window_within(hull, segment, query));
    pairs += count_keys_within(plan, segment, seen);
  }
  return pairs;
}

/// The rows' part of the hull: all of it for listed rows, which may be anywhere.
TokenRange reach_of_run(const AttentionPlan& plan, const Segment& segment,
                        const TokenRun& queries) {
  return reach_of(hull_of(plan, segment.keys), segment, hull_of(plan, queries));
}

/// Rows of the task with at least one key: the union, over maximal runs of keys, of the rows whose
/// windows reach the run.
std::int64_t rows_with_keys(const AttentionPlan& plan, const Task& task) {
  for (const Segment& segment : plan.segments_of(task)) {
    if (segment.kind != SegmentKind::whole) continue;
    if (count_keys_within(plan, segment, everything) > 0) return task.queries.size();
  }
  std::vector<TokenRange> rows;
  std::vector<TokenRange> keys;
  for (const Segment& segment : plan.segments_of(task)) {
    const TokenRange hull = hull_of(plan, segment.keys);
    keys.clear();
    append_keys_within(plan, segment, reach_of_run(plan, segment, task.queries), keys);
    for (const TokenRange& run : keys) {
      rows.push_back({rows_seeing(hull, segment, run.begin).begin,
                      rows_seeing(hull, segment, run.end - 1).end});
    }
  }
  merge_intervals(rows);
  std::int64_t total = 0;
  for (const TokenRange& range : rows) total += rows_in(plan, task.queries, range);
  return total;
}

/// Appends every key to which some row of the task attends.
void append_seen_keys(const AttentionPlan& plan, const Task& task, const Segment& segment,
                      std::vector<TokenRange>& keys) {
  const TokenRange hull = hull_of(plan, segment.keys);
  if (segment.kind == SegmentKind::whole || !task.queries.listed) {
    append_keys_within(plan, segment, reach_of_run(plan, segment, task.queries), keys);
    return;
  }
  for (const std::int64_t query : listed_tokens(plan, task.queries)) {
    append_keys_within(plan, segment, window_within(hull, segment, query), keys);
  }
}

/// (key, head) pairs with at least one row. Heads between two adjacent borders of the tasks' head
/// ranges have the same keys.
std::int64_t seen_keys(const AttentionPlan& plan) {
  std::set<std::int32_t> borders;
  for (const Task& task : plan.tasks) borders.insert({task.heads.begin, task.heads.end});
  std::int64_t total = 0;
  std::vector<TokenRange> keys;
  for (auto border = borders.begin(); border != borders.end(); ++border) {
    const auto next = std::next(border);
    if (next == borders.end()) break;
    keys.clear();
    // Tasks share segment lists; the keys of a whole segment do not depend on the rows.
    std::set<const Segment*> shown;
    for (const Task& task : plan.tasks) {
      if (task.heads.begin > *border || task.heads.end <= *border) continue;
      if (task.queries.size() == 0) continue;
      for (const Segment& segment : plan.segments_of(task)) {
        if (segment.kind == SegmentKind::whole && !shown.insert(&segment).second) continue;
        append_seen_keys(plan, task, segment, keys);
      }
    }
    merge_intervals(keys);
    for (const TokenRange& range : keys) total += range.size() * (*next - *border);
  }
  return total;
}

}  // namespace

std::int64_t pairs_within(const AttentionPlan& plan, const Task& task, TokenRange rows,
                          TokenRange keys) {
  if (rows.empty() || keys.empty()) return 0;
  std::int64_t pairs = 0;
  for (const Segment& segment : plan.segments_of(task)) {
    pairs += segment_pairs(plan, segment, task.queries, rows, keys);
  }
  return pairs;
}

PlanCounts count(const AttentionPlan& plan) {
  PlanCounts counts;
  for (const Task& task : plan.tasks) {
    const std::int64_t heads = task.heads.end - task.heads.begin;
    counts.pairs += heads * pairs_within(plan, task, everything, everything);
    counts.query_rows += heads * rows_with_keys(plan, task);
  }
  counts.exponentials = counts.pairs;
  return counts;
}

double useful_flop(const PlanCounts& counts, std::int64_t head_dim, Passes passes) {
  const double products = passes == Passes::forward ? 2 : 2 + 5;
  return 2.0 * products * static_cast<double>(head_dim) * static_cast<double>(counts.pairs);
}

double useful_exponentials(const PlanCounts& counts, Passes passes) {
  return (passes == Passes::forward ? 1.0 : 2.0) * static_cast<double>(counts.exponentials);
}

double least_bytes(const AttentionPlan& plan, std::int64_t head_dim, DType dtype, Passes passes) {
  // Forward: q and o for every row, k and v for every key. Backward: those and their gradients.
  const std::int64_t tensors = passes == Passes::forward ? 2 : 2 + 4;
  const std::int64_t rows = tensors * (count(plan).query_rows + seen_keys(plan));
  return static_cast<double>(rows) * static_cast<double>(head_dim * size_of(dtype));
}

}  // namespace attnscope
