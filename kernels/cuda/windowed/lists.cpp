// SPDX-License-Identifier: Apache-2.0
//
// Divides a plan into units.
#include <algorithm>
#include <iterator>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "kernels/cuda/windowed.h"
#include "kernels/cuda/windowed/arguments.h"
#include "kernels/cuda/work/directed_tasks.h"
#include "kernels/cuda/work_list.h"
#include "kernels/plan/key_runs.h"

namespace attnscope::cuda {

namespace windowed {
namespace {

constexpr std::int64_t countable = std::numeric_limits<std::int32_t>::max();

template <typename Integer>
std::int32_t narrow(Integer value) {
  return static_cast<std::int32_t>(value);
}

class Cut {
 public:
  Cut(const AttentionPlan& plan, Lists& lists) : plan_(plan), lists_(lists) {
    const auto is_for_all = [&](const Task& task) {
      return task.heads.begin == 0 && task.heads.end == plan.heads;
    };
    lists_.heads_per_unit = std::ranges::all_of(plan.tasks, is_for_all) ? plan.heads : 1;
    for (const std::int64_t token : plan.indices) lists_.indices.push_back(narrow(token));
    for (const Task& task : plan.tasks) {
      if (task.queries.size() > 0) add_rows(task);
      lists_.score_elements += rows_of(task) * columns_of(plan_, task);
    }
    put_much_first(lists_.rows);
  }

  /// The keys of the ascending ranges, to which rows are streamed in the plan's order.
  void add_keys(std::span<const TokenRange> ranges) {
    std::vector<Unit>& units = lists_.keys.all;
    for (const TokenRange& range : ranges)
      add_units(run_of({range.begin, range.end}), {0, lists_.heads}, {}, units);
    std::vector<std::vector<std::int32_t>> seeing(units.size());
    for (std::size_t view = 0; view < viewed_.size(); ++view) {
      const auto& [task, segment] = viewed_[view];
      const TokenRange seen =
          reach_of(hull_of(plan_, segment->keys), *segment, hull_of(plan_, task->queries));
      const auto end_of = [](const Unit& unit) { return unit.tokens.begin + unit.tokens.count; };
      auto unit = std::ranges::upper_bound(units, seen.begin, {}, end_of);
      for (; unit != units.end() && unit->tokens.begin < seen.end; ++unit) {
        const bool of_others =
            unit->first_head < task->heads.begin || unit->first_head >= task->heads.end;
        const TokenRange keys{unit->tokens.begin, end_of(*unit)};
        if (of_others ||
            (segment->keys.listed && within(listed_tokens(plan_, segment->keys), keys).empty())) {
          continue;
        }
        seeing[static_cast<std::size_t>(unit - units.begin())].push_back(narrow(view));
        const std::int64_t rows = task->queries.size(),
                           near = lists_.views[view].reach + strip_tokens;
        unit->passing += segment->kind == SegmentKind::whole ? rows : std::min(rows, near);
      }
    }
    for (std::size_t i = 0; i < seeing.size(); ++i) {
      units[i].first_view = narrow(lists_.seeing.size());
      units[i].views = narrow(seeing[i].size());
      lists_.seeing.insert(lists_.seeing.end(), seeing[i].begin(), seeing[i].end());
    }
    put_much_first(lists_.keys);
  }

 private:
  void add_rows(const Task& task) {
    Unit unit{.first_view = narrow(lists_.views.size()), .passing = columns_of(plan_, task)};
    std::int64_t first_score = lists_.score_elements;
    for (const Segment& segment : plan_.segments_of(task)) {
      if (segment.keys.size() == 0) continue;
      lists_.views.push_back(view_of(task, segment, first_score));
      viewed_.emplace_back(&task, &segment);
      first_score += columns_of(segment);
      ++unit.views;
    }
    add_units(run_of(task.queries), task.heads, unit, lists_.rows.all);
  }

  /// Adds the units of a run, each like `unit`.
  void add_units(const WorkRun& run, HeadRange heads, Unit unit, std::vector<Unit>& units) const {
    for (std::int32_t first = 0; first < run.count; first += strip_tokens) {
      unit.tokens = part_of(run, first, std::min(strip_tokens, run.count - first));
      for (unit.first_head = heads.begin; unit.first_head < heads.end;
           unit.first_head += lists_.heads_per_unit) {
        units.push_back(unit);
      }
    }
  }

  [[nodiscard]] View view_of(const Task& task, const Segment& segment,
                             std::int64_t first_score) const {
    const WorkSegment seen = directed(segment, run_of(segment.keys), plan_.tokens);
    const bool is_band = segment.kind == SegmentKind::band && !seen.is_whole();
    const bool is_block = segment.kind == SegmentKind::block;
    const std::int64_t columns = columns_of(plan_, task), width = columns_of(segment);
    const std::int64_t offset = std::clamp(segment.offset, -2 * plan_.tokens, plan_.tokens);
    return {.first_score = first_score,
            .head_stride = task.queries.size() * columns,
            .columns = columns,
            .first_head = task.heads.begin,
            .rows = run_of(task.queries),
            .keys = seen.run,
            .skipped = run_of({segment.skip_begin, segment.skip_end, true}),
            .kind = is_band || is_block ? segment.kind : SegmentKind::whole,
            .by_key = !is_block && (!is_band || stored_by_key(segment)),
            .width = narrow(width),
            .reach = is_band ? seen.high - seen.low : narrow(width),
            .shift = is_band ? seen.low : narrow(offset)};
  }

  /// Moves units with more than 1,024 streamed tokens to the front.
  static void put_much_first(Lists::Units& units) {
    const auto has_much = [](const Unit& unit) { return unit.passing > 1024; };
    units.much =
        std::stable_partition(units.all.begin(), units.all.end(), has_much) - units.all.begin();
  }

  const AttentionPlan& plan_;
  Lists& lists_;
  std::vector<std::pair<const Task*, const Segment*>> viewed_;  // in the order of the views
};

/// `written`: the keys whose gradients are written.
Result<WindowedWork> cut(const AttentionPlan& plan, std::span<const TokenRange> written,
                         std::int64_t head_dim, DType dtype, Passes passes) {
  if (Status s = windowed_supports(plan, head_dim); !s) return tl::unexpected(s.error());
  if (plan.tokens > most_tokens || std::ssize(plan.indices) > most_tokens) {
    return fail(
        "Windowed attention on CUDA supports up to {} tokens and listed tokens, not {} and {}",
        most_tokens, plan.tokens, plan.indices.size());
  }
  auto lists = std::make_shared<Lists>();
  lists->head_dim = head_dim;
  lists->dtype = dtype;
  lists->passes = passes;
  lists->tokens = plan.tokens;
  lists->heads = plan.heads;
  Cut cut(plan, *lists);
  if (passes == Passes::forward_backward) cut.add_keys(written);
  if (std::max(std::ssize(lists->views), std::ssize(lists->seeing)) > countable) {
    return fail("This plan has too many segments for the GPU's work list; make the batch smaller");
  }
  lists->bytes = list_bytes(*lists);
  return WindowedWork{std::move(lists)};
}

}  // namespace

}  // namespace windowed

std::span<const std::byte> WindowedWork::list() const {
  return lists->bytes;
}

std::int64_t WindowedWork::score_elements() const {
  return lists->score_elements;
}

Status windowed_supports(const AttentionPlan& plan, std::int64_t head_dim) {
  if (head_dim < 8 || head_dim > 256) {
    return fail("Windowed attention on CUDA supports head dimensions 8 to 256, not {}", head_dim);
  }
  return has_windowed_layout(plan, /*most=*/std::int64_t{1} << 40);
}

Result<WindowedWork> band_work(const BandProblem& problem, DType dtype, Passes passes) {
  if (problem.window < 0) {
    return fail("The band has window {}; a window is at least 0", problem.window);
  }
  if (problem.heads < 1 || problem.heads > windowed::countable) {
    return fail("The band has {} heads; at least 1 is needed", problem.heads);
  }
  // A band is a plan whose sequences attend only to themselves.
  AttentionPlan plan;
  plan.heads = static_cast<std::int32_t>(problem.heads);
  for (const TokenRange& sequence : problem.sequences) {
    if (sequence.empty()) continue;
    plan.tasks.push_back({.queries = {sequence.begin, sequence.end},
                          .heads = {0, plan.heads},
                          .first_segment = static_cast<std::int64_t>(plan.segments.size()),
                          .segment_count = 1});
    plan.segments.push_back(band_of(problem, sequence));
    plan.tokens = sequence.end;
  }
  return windowed::cut(plan, problem.sequences, problem.head_dim, dtype, passes);
}

Result<WindowedWork> windowed_work(const AttentionPlan& plan, std::int64_t head_dim, DType dtype,
                                   Passes passes) {
  const TokenRange all{0, plan.tokens};
  return windowed::cut(plan, {&all, 1}, head_dim, dtype, passes);
}

}  // namespace attnscope::cuda
