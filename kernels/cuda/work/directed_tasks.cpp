// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/work/directed_tasks.h"

#include <algorithm>
#include <compare>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "kernels/plan/key_runs.h"

namespace attnscope::cuda {

WorkRun run_of(const TokenRun& run) {
  return {static_cast<std::int32_t>(run.begin), static_cast<std::int32_t>(run.size()),
          run.listed ? 1 : 0};
}

std::int32_t token_at(const WorkRun& run, std::int32_t position, Indices indices) {
  const std::int32_t at = run.begin + position;
  return run.listed != 0 ? indices[static_cast<std::size_t>(at)] : at;
}

TokenRange hull_of(const WorkRun& run, Indices indices) {
  if (run.count <= 0) return {};
  return {token_at(run, 0, indices), token_at(run, run.count - 1, indices) + 1};
}

WorkRun part_of(const WorkRun& run, std::int32_t first, std::int32_t count) {
  return {run.begin + first, count, run.listed};
}

std::int32_t position_of(const WorkRun& run, std::int32_t token, Indices indices) {
  if (run.listed == 0) return std::clamp(token - run.begin, 0, run.count);
  const auto listed =
      indices.subspan(static_cast<std::size_t>(run.begin), static_cast<std::size_t>(run.count));
  return static_cast<std::int32_t>(std::ranges::lower_bound(listed, token) - listed.begin());
}

void append_intervals(const WorkRun& run, Indices indices, std::vector<TokenRange>& intervals) {
  for (std::int32_t i = 0; i < run.count;) {
    const std::int64_t begin = token_at(run, i, indices);
    std::int64_t end = run.listed != 0 ? begin + 1 : begin + run.count;
    i += static_cast<std::int32_t>(end - begin);
    for (; i < run.count && token_at(run, i, indices) == end; ++i) ++end;
    intervals.push_back({begin, end});
  }
}

WorkRun as_run(std::span<const TokenRange> intervals, std::vector<std::int32_t>& indices) {
  if (intervals.empty()) return {};
  if (intervals.size() == 1) return run_of({intervals[0].begin, intervals[0].end});
  const auto begin = static_cast<std::int32_t>(indices.size());
  for (const TokenRange& interval : intervals) {
    for (std::int64_t token = interval.begin; token < interval.end; ++token)
      indices.push_back(static_cast<std::int32_t>(token));
  }
  return {begin, static_cast<std::int32_t>(indices.size()) - begin, 1};
}

std::vector<WorkRun> runs_of(std::vector<TokenRange> tokens, std::vector<std::int32_t>& indices) {
  constexpr std::int64_t long_interval = 512;  // enough to fill units without others
  merge_intervals(tokens);
  const auto first_short = std::stable_partition(
      tokens.begin(), tokens.end(),
      [](const TokenRange& interval) { return interval.size() >= long_interval; });
  std::vector<WorkRun> runs;
  for (auto interval = tokens.begin(); interval != first_short; ++interval)
    runs.push_back(run_of({interval->begin, interval->end}));
  if (first_short != tokens.end()) runs.push_back(as_run({first_short, tokens.end()}, indices));
  return runs;
}

namespace {

/// Appends a task for tokens with the same segments, with adjacent whole segments joined.
void add_tasks(std::span<const WorkSegment> segments, std::int64_t item,
               std::vector<TokenRange> tokens, std::vector<std::int32_t>& indices,
               Direction& direction) {
  const auto joinable = [](const WorkSegment& s) { return s.is_whole() && s.run.listed == 0; };
  const std::size_t first = direction.segments.size();
  for (const WorkSegment& segment : segments) {
    if (segment.run.count == 0) continue;
    if (direction.segments.size() > first && joinable(segment)) {
      WorkSegment& last = direction.segments.back();
      if (joinable(last) && last.run.begin + last.run.count == segment.run.begin) {
        last.run.count += segment.run.count;
        continue;
      }
    }
    direction.segments.push_back(segment);
  }
  const std::vector<WorkRun> runs = runs_of(std::move(tokens), indices);
  for (const WorkRun& run : runs) {
    direction.tasks.push_back(
        {.run = run,
         .item = item,
         .first_segment = static_cast<std::int32_t>(first),
         .segments = static_cast<std::int32_t>(direction.segments.size() - first)});
  }
}

void sort_by_tokens(Direction& direction, Indices indices) {
  std::ranges::stable_sort(direction.tasks, {}, [&](const DirectedTask& task) {
    return token_at(task.run, 0, indices);
  });
}

/// The block of a row in a segment of blocks.
TokenRange block_of(const AttentionPlan& plan, const Segment& segment, std::int64_t row) {
  return window_within(hull_of(plan, segment.keys), segment, row);
}

/// Rows by their blocks in the segments with blocks.
using RowsByBlocks = std::map<std::vector<std::int64_t>, std::vector<TokenRange>>;

RowsByBlocks by_blocks(const AttentionPlan& plan, std::span<const Segment> segments,
                       std::span<const TokenRange> rows) {
  RowsByBlocks parted;
  for (TokenRange rest : rows) {
    while (!rest.empty()) {
      TokenRange part = rest;
      std::vector<std::int64_t> seen;
      for (const Segment& segment : segments) {
        if (segment.kind != SegmentKind::block) continue;
        const TokenRange block = block_of(plan, segment, part.begin);
        seen.push_back(block.empty() ? -1 : block.begin);
        // Rows before the first block have none either.
        const std::int64_t next = block.end - segment.offset;
        if (next > part.begin) part.end = std::min(part.end, next);
      }
      parted[seen].push_back(part);
      rest.begin = part.end;
    }
  }
  return parted;
}

/// Rows that attend to keys at the same distances.
struct Incident {
  std::int32_t task = 0;           // of the rows
  std::int32_t low = 0, high = 0;  // from a key to the rows that attend to it
  friend auto operator<=>(const Incident&, const Incident&) = default;  // NOLINT: no null pointer
};

/// An incident starts (1) or stops (-1) to apply at a token.
struct Change {
  std::int64_t token = 0;
  std::int32_t incident = 0;
  std::int32_t by = 0;
};

/// The heads, divided at the borders of all tasks' heads.
std::vector<HeadRange> head_ranges(const AttentionPlan& plan) {
  std::set<std::int32_t> cuts{0, plan.heads};
  for (const Task& task : plan.tasks) cuts.insert({task.heads.begin, task.heads.end});
  std::vector<HeadRange> ranges;
  for (auto cut = cuts.begin(); std::next(cut) != cuts.end(); ++cut)
    ranges.push_back({*cut, *std::next(cut)});
  return ranges;
}

}  // namespace

WorkSegment directed(const Segment& segment, const WorkRun& run, std::int64_t tokens) {
  if (segment.kind != SegmentKind::band) return {.run = run};
  constexpr std::int64_t far = std::int64_t{1} << 60, most = everywhere;
  const std::int64_t window = std::min(segment.window, far);
  const std::int64_t offset = std::clamp(segment.offset, -far, far);
  const std::int64_t low = offset - window, high = offset + window + 1;
  if (low >= tokens || high <= 1 - tokens) return {.run = {}};
  if (low <= 1 - tokens && high >= tokens) return {.run = run};
  return {.run = run,
          .low = static_cast<std::int32_t>(std::max(low, -most)),
          .high = static_cast<std::int32_t>(std::min(high, most))};
}

std::vector<WorkSegment> directed_segments(const AttentionPlan& plan,
                                           std::vector<std::int32_t>& indices) {
  indices.reserve(plan.indices.size());
  for (const std::int64_t token : plan.indices) indices.push_back(static_cast<std::int32_t>(token));
  std::vector<WorkSegment> segments;
  segments.reserve(plan.segments.size());
  for (const Segment& segment : plan.segments) {
    WorkRun run = run_of(segment.keys);
    const TokenRange hull = hull_of(plan, segment.keys);
    if (!within(plan.skipped_of(segment), hull).empty()) {
      std::vector<TokenRange> kept;
      append_keys_within(plan, segment, hull, kept);
      run = as_run(kept, indices);
    }
    segments.push_back(directed(segment, run, plan.tokens));
  }
  return segments;
}

Direction rows_direction(const AttentionPlan& plan, HeadRange heads,
                         std::span<const WorkSegment> segments,
                         std::vector<std::int32_t>& indices) {
  // Sentence starts divide a document's rows into many tasks with the same list of segments, and
  // many tiny items may attend only to a shared query.
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<const Task*>> alike;
  for (const Task& task : plan.tasks) {
    if (task.heads.begin > heads.begin || task.heads.end < heads.end) continue;
    if (task.queries.size() <= 0) continue;
    const std::int64_t first = task.segment_count == 0 ? 0 : task.first_segment;
    alike[{first, task.segment_count}].push_back(&task);
  }
  Direction direction{.tasks = {}, .segments = {}};
  for (const auto& [of_plan, tasks] : alike) {
    const auto own = plan.segments_of(*tasks.front());
    const auto whole = segments.subspan(static_cast<std::size_t>(of_plan.first), own.size());
    std::int64_t item = tasks.front()->item;
    std::vector<TokenRange> rows;
    for (const Task* task : tasks) {
      if (task->item != item) item = -1;
      append_intervals(run_of(task->queries), indices, rows);
    }
    for (const auto& [blocks, tokens] : by_blocks(plan, own, rows)) {
      std::vector<WorkSegment> seen(whole.begin(), whole.end());
      for (std::size_t i = 0; i < own.size(); ++i) {
        if (own[i].kind != SegmentKind::block) continue;
        const TokenRange block = block_of(plan, own[i], tokens.front().begin);
        const WorkRun& all = seen[i].run;
        const auto place_of = [&](std::int64_t token) {
          return position_of(all, static_cast<std::int32_t>(token), indices);
        };
        const std::int32_t first = place_of(block.begin);
        seen[i].run = part_of(all, first, place_of(block.end) - first);
      }
      add_tasks(seen, item, tokens, indices, direction);
    }
  }
  sort_by_tokens(direction, indices);
  return direction;
}

Direction keys_direction(const Direction& rows, std::int32_t tokens,
                         std::vector<std::int32_t>& indices) {
  std::vector<Incident> incidents;
  std::map<Incident, std::int32_t> numbers;
  std::vector<Change> changes;
  for (std::size_t task = 0; task < rows.tasks.size(); ++task) {
    for (const WorkSegment& segment : rows.segments_of(rows.tasks[task])) {
      const Incident incident{static_cast<std::int32_t>(task), 1 - segment.high, 1 - segment.low};
      const auto [found, is_new] =
          numbers.try_emplace(incident, static_cast<std::int32_t>(incidents.size()));
      if (is_new) incidents.push_back(incident);
      std::vector<TokenRange> keys;
      append_intervals(segment.run, indices, keys);
      for (const TokenRange& interval : keys) {
        changes.push_back({interval.begin, found->second, 1});
        changes.push_back({interval.end, found->second, -1});
      }
    }
  }
  std::ranges::sort(changes, {}, &Change::token);

  std::map<std::int32_t, std::int32_t> held;  // how often each incident applies
  std::map<std::vector<std::int32_t>, std::vector<TokenRange>> classes;
  auto change = changes.begin();
  for (std::int64_t token = 0; token < tokens;) {
    for (; change != changes.end() && change->token == token; ++change)
      held[change->incident] += change->by;
    std::erase_if(held, [](const auto& incident) { return incident.second == 0; });
    const std::int64_t next = change != changes.end() ? change->token : tokens;
    std::vector<std::int32_t> alike;
    alike.reserve(held.size());
    for (const auto& [incident, times] : held) alike.push_back(incident);
    classes[alike].push_back({token, next});
    token = next;
  }

  Direction direction{.tasks = {}, .segments = {}};
  for (const auto& [alike, keys] : classes) {
    std::vector<WorkSegment> segments;
    std::int64_t item = -1;
    for (const std::int32_t number : alike) {
      const Incident& incident = incidents[static_cast<std::size_t>(number)];
      const DirectedTask& seeing = rows.tasks[static_cast<std::size_t>(incident.task)];
      item = segments.empty() || item == seeing.item ? seeing.item : -1;
      segments.push_back({.run = seeing.run, .low = incident.low, .high = incident.high});
    }
    std::ranges::stable_sort(segments, {}, [](const WorkSegment& segment) {
      return std::pair(segment.run.listed, segment.run.begin);
    });
    add_tasks(segments, item, keys, indices, direction);
  }
  sort_by_tokens(direction, indices);
  return direction;
}

WorkList empty_list(const AttentionPlan& plan) {
  WorkList list;
  list.heads = plan.heads;
  list.heads_per_unit = head_ranges(plan).size() == 1 ? plan.heads : 1;
  list.tokens = static_cast<std::int32_t>(plan.tokens);
  return list;
}

void add_units(const Direction& direction, HeadRange heads, WorkList& list) {
  const auto first_segment = static_cast<std::int32_t>(list.segments.size());
  list.segments.insert(list.segments.end(), direction.segments.begin(), direction.segments.end());
  for (std::int32_t head = heads.begin; head < heads.end; head += list.heads_per_unit) {
    for (const DirectedTask& task : direction.tasks) {
      for (std::int32_t first = 0; first < task.run.count; first += strip_tokens) {
        list.units.push_back(
            {.run = part_of(task.run, first, std::min(strip_tokens, task.run.count - first)),
             .first_segment = first_segment + task.first_segment,
             .segments = task.segments,
             .first_head = head});
      }
    }
  }
}

Result<WorkList> cut_into_units(const AttentionPlan& plan, Passes passes) {
  const auto indices = static_cast<std::int64_t>(plan.indices.size());
  if (plan.tokens > most_tokens || indices > most_tokens) {
    return fail(
        "a batch for CUDA has at most {} tokens, and this batch has {}; use a smaller batch",
        most_tokens, std::max(plan.tokens, indices));
  }
  WorkList list = empty_list(plan);
  const std::vector<WorkSegment> segments = directed_segments(plan, list.indices);
  const std::vector<HeadRange> ranges = head_ranges(plan);
  std::vector<Direction> rows;
  for (const HeadRange& heads : ranges) {
    rows.push_back(rows_direction(plan, heads, segments, list.indices));
    add_units(rows.back(), heads, list);
  }
  list.row_units = static_cast<std::int32_t>(list.units.size());
  for (std::size_t i = 0; passes != Passes::forward && i < ranges.size(); ++i)
    add_units(keys_direction(rows[i], list.tokens, list.indices), ranges[i], list);
  return list;
}

}  // namespace attnscope::cuda
