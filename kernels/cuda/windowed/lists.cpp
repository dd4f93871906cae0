// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/windowed/lists.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "kernels/cuda/sections.h"
#include "kernels/cuda/windowed.h"
#include "kernels/cuda/work/token_runs.h"
#include "kernels/plan/key_runs.h"
#include "kernels/plan/windowed_layout.h"

namespace attnscope::cuda {
namespace windowed {
namespace {

/// Tokens, offsets and windows up to here: their sums are places, counted in 32 bits.
constexpr std::int64_t most = std::int64_t{1} << 29;
/// A list of so many units takes gigabytes; their scores would take terabytes.
constexpr std::int64_t most_units = std::int64_t{1} << 26;
constexpr std::int64_t countable = std::numeric_limits<std::int32_t>::max();
/// The warps of a block share a unit by which more tokens than this pass.
constexpr std::int64_t much = 1024;

template <typename Integer>
std::int32_t narrow(Integer value) {
  return static_cast<std::int32_t>(value);
}

std::int32_t heads_per_unit(const AttentionPlan& plan) {
  std::int32_t common = plan.heads;
  for (const Task& task : plan.tasks) {
    common = std::gcd(common, std::gcd(task.heads.begin, task.heads.end));
  }
  return std::max(common, 1);
}

Status too_many_units() {
  return fail(
      "The score matrices of this plan are too large for the GPU's grid; make the batch smaller");
}

Status check_size(const AttentionPlan& plan) {
  if (plan.tokens > most || static_cast<std::int64_t>(plan.indices.size()) > most) {
    return fail("Windowed attention on CUDA takes up to {} tokens and listed tokens, not {} and {}",
                most, plan.tokens, plan.indices.size());
  }
  for (const Segment& segment : plan.segments) {
    if (segment.kind == SegmentKind::whole) continue;
    if (segment.window > most || segment.offset > most || segment.offset < -most) {
      return fail(
          "Windowed attention on CUDA takes windows and offsets up to {}, not {} and {}; use an "
          "infinite window",
          most, segment.window, segment.offset);
    }
  }
  std::int64_t units = 0;
  for (const Task& task : plan.tasks) {
    if (task.queries.size() == 0) continue;
    const std::int64_t columns = columns_of(plan, task);
    if (columns > countable) {
      return fail(
          "The score matrices of this plan have rows of {} floats, too many for the GPU's grid; "
          "use a smaller window or an infinite one",
          columns);
    }
    units += (task.queries.size() / strip_tokens + 1) * (task.heads.end - task.heads.begin);
  }
  return units / heads_per_unit(plan) <= most_units ? Status() : too_many_units();
}

/// Makes the view one of this segment.
void set_segment(const Segment& segment, View& view) {
  const bool is_band = segment.kind == SegmentKind::band;
  view.keys = run_of(segment.keys);
  view.kind = segment.kind;
  view.width = narrow(columns_of(segment));
  view.reach = is_band ? narrow(2 * segment.window + 1) : view.width;
  view.by_key = stored_by_key(segment) ? 1 : 0;
  view.window = narrow(segment.window);
  view.shift = narrow(is_band ? segment.offset - segment.window : segment.offset);
  view.skip_begin = narrow(segment.skip_begin);
  view.skip_end = narrow(segment.skip_end);
}

class Cut {
 public:
  Cut(const AttentionPlan& plan, Lists& lists) : plan_(plan), lists_(lists) {}

  void add_rows() {
    for (const std::int64_t token : plan_.indices) lists_.indices.push_back(narrow(token));
    for (const Task& task : plan_.tasks) {
      if (task.queries.size() > 0) add_row_units(task, add_views(task));
      lists_.score_elements += rows_of(task) * columns_of(plan_, task);
    }
    lists_.shared_row_units = put_shared_first(lists_.row_units);
  }

  /// The keys of the ascending ranges, by which rows pass in the plan's order.
  void add_keys(const std::vector<TokenRange>& ranges) {
    std::vector<TokenRange> tiles;
    for (const TokenRange& range : ranges) {
      for (std::int64_t begin = range.begin; begin < range.end; begin += strip_tokens) {
        tiles.push_back({begin, std::min<std::int64_t>(begin + strip_tokens, range.end)});
      }
    }
    const auto groups = static_cast<std::size_t>(lists_.heads / lists_.heads_per_unit);
    std::vector<std::vector<Part>> parts(tiles.size() * groups);
    for (std::size_t view = 0; view < lists_.views.size(); ++view) {
      const auto& [task, segment] = viewed_[view];
      const TokenRange seen =
          reach_of(hull_of(plan_, segment->keys), *segment, hull_of(plan_, task->queries));
      const auto first = std::ranges::upper_bound(tiles, seen.begin, {}, &TokenRange::end);
      for (auto tile = first; tile != tiles.end() && tile->begin < seen.end; ++tile) {
        const Part part = rows_that_see(intersect(seen, *tile), view);
        if (part.begin >= part.end) continue;
        const auto at = static_cast<std::size_t>(tile - tiles.begin()) * groups;
        for (std::int32_t head = task->heads.begin; head < task->heads.end;
             head += lists_.heads_per_unit) {
          parts[at + static_cast<std::size_t>(head / lists_.heads_per_unit)].push_back(part);
        }
      }
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const TokenRange& tile = tiles[i / groups];
      lists_.key_units.push_back({.tokens = {narrow(tile.begin), narrow(tile.size()), 0},
                                  .first_head = narrow(i % groups) * lists_.heads_per_unit,
                                  .first_part = narrow(std::ssize(lists_.parts)),
                                  .parts = narrow(std::ssize(parts[i]))});
      lists_.parts.insert(lists_.parts.end(), parts[i].begin(), parts[i].end());
    }
    lists_.shared_key_units = put_shared_first(lists_.key_units);
  }

 private:
  /// Views of the task's segments that have columns; returns how many.
  std::int32_t add_views(const Task& task) {
    const std::int64_t columns = columns_of(plan_, task);
    const std::size_t before = lists_.views.size();
    View view{.first_score = lists_.score_elements,
              .head_stride = task.queries.size() * columns,
              .columns = narrow(columns),
              .first_head = task.heads.begin,
              .rows = run_of(task.queries),
              .keys = {}};
    for (const Segment& segment : plan_.segments_of(task)) {
      set_segment(segment, view);
      if (view.width == 0) continue;
      lists_.views.push_back(view);
      viewed_.emplace_back(&task, &segment);
      view.first_score += view.width;
    }
    return narrow(lists_.views.size() - before);
  }

  /// Of a task whose views were added last.
  void add_row_units(const Task& task, std::int32_t views) {
    const TokenRun& all = task.queries;
    for (std::int64_t row = all.begin; row < all.end; row += strip_tokens) {
      const TokenRun rows{row, std::min<std::int64_t>(row + strip_tokens, all.end), all.listed};
      Unit unit{
          .tokens = run_of(rows), .first_part = narrow(std::ssize(lists_.parts)), .parts = views};
      for (std::size_t view = viewed_.size() - static_cast<std::size_t>(views);
           view < viewed_.size(); ++view) {
        const Segment& segment = *viewed_[view].second;
        TokenRange keys{segment.keys.begin, segment.keys.end};
        if (!segment.keys.listed) keys = reach_of(keys, segment, hull_of(plan_, rows));
        lists_.parts.push_back({narrow(view), narrow(keys.begin), narrow(keys.end)});
      }
      for (unit.first_head = task.heads.begin; unit.first_head < task.heads.end;
           unit.first_head += lists_.heads_per_unit) {
        lists_.row_units.push_back(unit);
      }
    }
  }

  /// Of the view's rows those that see any of the keys.
  [[nodiscard]] Part rows_that_see(const TokenRange& keys, std::size_t view) const {
    const Segment& segment = *viewed_[view].second;
    const bool none =
        segment.keys.listed && within(listed_tokens(plan_, segment.keys), keys).empty();
    if (none || keys.empty()) return {};
    const WorkRun& rows = lists_.views[view].rows;
    const auto place_of = [&](std::int64_t token) {
      const std::int64_t within_plan = std::clamp<std::int64_t>(token, 0, plan_.tokens);
      return rows.begin + position_of(rows, narrow(within_plan), lists_.indices);
    };
    const TokenRange hull = hull_of(plan_, segment.keys);
    return {.view = narrow(view),
            .begin = place_of(rows_seeing(hull, segment, keys.begin).begin),
            .end = place_of(rows_seeing(hull, segment, keys.end - 1).end)};
  }

  /// How many are to be shared.
  [[nodiscard]] std::int64_t put_shared_first(std::vector<Unit>& units) const {
    const auto is_shared = [this](const Unit& unit) {
      std::int64_t passing = 0;
      for (std::int32_t i = unit.first_part; i < unit.first_part + unit.parts; ++i) {
        const Part& part = lists_.parts[static_cast<std::size_t>(i)];
        passing += part.end - part.begin;
      }
      return passing > much;
    };
    return std::stable_partition(units.begin(), units.end(), is_shared) - units.begin();
  }

  const AttentionPlan& plan_;
  Lists& lists_;
  std::vector<std::pair<const Task*, const Segment*>> viewed_;  // by the views
};

constexpr auto sections = [](const Lists& lists, DeviceLists& seen, const auto& visit) {
  visit(lists.views, seen.views);
  visit(lists.parts, seen.parts);
  visit(lists.row_units, seen.row_units);
  visit(lists.key_units, seen.key_units);
  visit(lists.indices, seen.indices);
};

/// `written`: the keys whose gradients are written.
Result<WindowedWork> cut(const AttentionPlan& plan, const std::vector<TokenRange>& written,
                         std::int64_t head_dim, DType dtype, Passes passes) {
  if (Status s = windowed_supports(plan, head_dim); !s) return tl::unexpected(s.error());
  if (Status s = check_size(plan); !s) return tl::unexpected(s.error());
  auto lists = std::make_shared<Lists>();
  lists->head_dim = head_dim;
  lists->dtype = dtype;
  lists->passes = passes;
  lists->tokens = narrow(plan.tokens);
  lists->heads = plan.heads;
  lists->heads_per_unit = heads_per_unit(plan);
  Cut cut(plan, *lists);
  cut.add_rows();
  if (passes == Passes::forward_backward) cut.add_keys(written);
  if (std::ssize(lists->parts) > countable) return tl::unexpected(too_many_units().error());
  lists->bytes = bytes_of_sections<DeviceLists>(*lists, sections);
  return WindowedWork(std::move(lists));
}

}  // namespace

DeviceLists on_device(const Lists& lists, const std::byte* base) {
  return sections_at<DeviceLists>(lists, base, sections);
}

}  // namespace windowed

WindowedWork::WindowedWork(std::shared_ptr<const windowed::Lists> lists)
    : lists_(std::move(lists)) {}

std::span<const std::byte> WindowedWork::list() const {
  return lists_->bytes;
}

std::int64_t WindowedWork::score_elements() const {
  return lists_->score_elements;
}

Status windowed_supports(const AttentionPlan& plan, std::int64_t head_dim) {
  if (head_dim < 8 || head_dim > 256) {
    return fail("Windowed attention on CUDA takes head dimensions 8 to 256, not {}", head_dim);
  }
  return has_windowed_layout(plan, /*most=*/std::int64_t{1} << 40);
}

Result<WindowedWork> band_work(const BandProblem& problem, DType dtype, Passes passes) {
  if (problem.window < 0) {
    return fail("The band has window {}; a window is at least 0", problem.window);
  }
  if (problem.heads < 1 || problem.heads > windowed::countable) {
    return fail("The band has {} heads; give at least 1", problem.heads);
  }
  // A band is a plan whose sequences see nothing but themselves.
  AttentionPlan plan;
  plan.heads = static_cast<std::int32_t>(problem.heads);
  std::vector<TokenRange> written;
  for (const TokenRange& sequence : problem.sequences) {
    if (sequence.empty()) continue;
    plan.tasks.push_back({.queries = {sequence.begin, sequence.end},
                          .heads = {0, plan.heads},
                          .first_segment = static_cast<std::int64_t>(plan.segments.size()),
                          .segment_count = 1});
    plan.segments.push_back(band_of(problem, sequence));
    plan.tokens = sequence.end;
    written.push_back(sequence);
  }
  return windowed::cut(plan, written, problem.head_dim, dtype, passes);
}

Result<WindowedWork> windowed_work(const AttentionPlan& plan, std::int64_t head_dim, DType dtype,
                                   Passes passes) {
  return windowed::cut(plan, {{0, plan.tokens}}, head_dim, dtype, passes);
}

}  // namespace attnscope::cuda
