// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include "kernels/cuda/work/directed_tasks.h"
#include "kernels/cuda/work_list.h"
#include "kernels/plan/key_runs.h"

namespace attnscope::cuda {
namespace {

/// Strips of a walk: many, because the start and the end of a walk cost about one strip; fewer if
/// the walks would not suffice for the GPU (WalkCut).
constexpr std::int64_t least_strips = 4;
constexpr std::int64_t most_strips = 16;

/// Rows that walks support.
struct WalkedTask {
  std::int64_t item = -1;
  WorkRun rows;
  TokenRange keys;  // of the band
  std::int32_t window = -1;
  std::vector<std::int32_t> globals;  // ascending
  WorkRun wide;
  std::int32_t merge = -1;  // of the wide rows
  bool wide_takes_globals = false;
  std::int32_t wide_rows_before = 0;  // in the merge: those of other tasks in the same part
};

void append_tokens(const WorkRun& run, Indices indices, std::vector<std::int32_t>& tokens) {
  for (std::int32_t i = 0; i < run.count; ++i) tokens.push_back(token_at(run, i, indices));
}

std::optional<WalkedTask> walked(const Direction& direction, const DirectedTask& task,
                                 Indices indices) {
  if (task.run.listed != 0 || task.segments == 0) return std::nullopt;
  const TokenRange rows = hull_of(task.run, indices);
  WalkedTask made{.item = task.item, .rows = task.run, .keys = rows, .globals = {}, .wide = {}};
  std::int64_t globals = 0;
  for (const WorkSegment& segment : direction.segments_of(task)) {
    if (segment.is_whole()) {
      globals += segment.run.count;
      if (globals > most_globals(true)) return std::nullopt;
      append_tokens(segment.run, indices, made.globals);
      continue;
    }
    const bool is_plain_band = segment.run.listed == 0 && segment.low == 1 - segment.high &&
                               segment.high <= broadest_window + 1;
    if (!is_plain_band || made.window >= 0) return std::nullopt;
    made.keys = hull_of(segment.run, indices);
    made.window = segment.high - 1;
    if (made.keys.begin > rows.begin || made.keys.end < rows.end) return std::nullopt;
  }
  std::ranges::sort(made.globals);
  return made;
}

class Walking {
 public:
  Walking(Direction& rows, std::int32_t heads, std::int64_t head_dim, const WalkCut& cut,
          WalkList& list)
      : rows_(rows), heads_(heads), head_dim_(head_dim), cut_(cut), list_(list) {}

  /// Moves the tasks that walks support out of the direction. `by_head`: WalkList::by_head also of
  /// walks that are not broad.
  void cut(bool by_head) {
    std::vector<DirectedTask> left;
    for (const DirectedTask& task : rows_.tasks) {
      if (auto made = walked(rows_, task, list_.indices)) {
        of_item_[task.item].push_back(walked_.size());
        walked_.push_back(std::move(*made));
      } else {
        left.push_back(task);
      }
    }
    // Walks without a band save nothing.
    if (std::ranges::none_of(walked_, [](const WalkedTask& task) { return task.window >= 0; })) {
      return;
    }
    take_wide(left);
    rows_.tasks = std::move(left);
    set_shape();
    list_.by_head = by_head || list_.shape.broad;
    lay_out();
  }

 private:
  /// Few rows that attend to all keys of some bands, and to some others.
  struct WideTask {
    WorkRun run;
    std::vector<std::size_t> users;  // the tasks of these bands
    std::vector<std::int32_t> others;
  };

  [[nodiscard]] std::optional<WideTask> wide_of(const DirectedTask& task) const {
    const auto segments = rows_.segments_of(task);
    const bool fits = task.run.listed == 0 && task.run.count <= most_wide_rows(true) &&
                      std::ranges::all_of(segments, [](const WorkSegment& segment) {
                        return segment.is_whole() && segment.run.listed == 0;
                      });
    const auto found = of_item_.find(task.item);
    if (!fits || found == of_item_.end()) return std::nullopt;
    WideTask wide{.run = task.run, .users = {}, .others = {}};
    for (const WorkSegment& segment : segments)
      append_tokens(segment.run, list_.indices, wide.others);
    std::ranges::sort(wide.others);
    for (const std::size_t number : found->second) {
      const WalkedTask& rows = walked_[number];
      const bool is_free = rows.window >= 0 && rows.wide.count == 0 &&
                           rows.keys == hull_of(rows.rows, list_.indices);
      const std::ptrdiff_t size = rows.keys.size();
      const auto first = std::ranges::lower_bound(wide.others, rows.keys.begin);
      if (!is_free || wide.others.end() - first < size || first[size - 1] != rows.keys.end - 1)
        continue;
      wide.users.push_back(number);
      wide.others.erase(first, first + size);
    }
    if (wide.users.empty() || std::ssize(wide.others) > most_globals(true)) return std::nullopt;
    return wide;
  }

  /// Moves wide rows out of the tasks; adjacent ones with the same bands are joined.
  void take_wide(std::vector<DirectedTask>& tasks) {
    std::vector<DirectedTask> left;
    for (std::size_t i = 0; i < tasks.size();) {
      std::vector<WideTask> together;
      std::int32_t rows = 0;
      for (; i < tasks.size(); ++i) {
        auto next = wide_of(tasks[i]);
        if (!next || rows + next->run.count > most_wide_rows(true)) break;
        if (!together.empty() &&
            (together.back().run.begin + together.back().run.count != next->run.begin ||
             together.back().users != next->users)) {
          break;
        }
        rows += next->run.count;
        together.push_back(*std::move(next));
      }
      if (together.empty()) {
        left.push_back(tasks[i++]);
      } else {
        add_wide(together, {together.front().run.begin, rows, 0});
      }
    }
    tasks = std::move(left);
  }

  void add_wide(std::span<const WideTask> together, const WorkRun& run) {
    const auto merge = static_cast<std::int32_t>(list_.merges.size());
    list_.merges.push_back({.run = run, .parts = 0});
    for (const std::size_t number : together.front().users) {
      walked_[number].wide = run;
      walked_[number].merge = merge;
    }
    WalkedTask& first = walked_[together.front().users.front()];
    if (together.size() == 1 &&
        (together.front().others.empty() || together.front().others == first.globals)) {
      first.wide_takes_globals = !together.front().others.empty();
      return;
    }
    // One more part for all rows, whose other keys differ.
    for (const WideTask& task : together) {
      walked_.push_back({.item = -1,
                         .rows = {task.run.begin, 0, 0},
                         .keys = {task.run.begin, task.run.begin},
                         .globals = task.others,
                         .wide = task.run,
                         .merge = merge,
                         .wide_takes_globals = true,
                         .wide_rows_before = task.run.begin - run.begin});
    }
  }

  void set_shape() {
    for (const WalkedTask& task : walked_) {
      const auto globals = static_cast<std::int32_t>(task.globals.size());
      list_.shape.broad = list_.shape.broad || task.window > radius_of(true);
      list_.shape.far = list_.shape.far || task.window > radius_of(false);
      list_.shape.many = list_.shape.many || globals > most_globals(false) ||
                         task.wide.count > most_wide_rows(false);
    }
  }

  void lay_out() {
    together_ = list_.shape.broad ? broad_strips_of(head_dim_) : 1;
    std::int64_t strips = most_strips;
    const std::int64_t least = list_.shape.broad ? together_ : least_strips;
    while (strips > least && !fill_the_gpu(strips)) strips -= together_;
    number_partial_rows(strips);
    for (const WalkedTask& task : walked_) add_walks(task, walks_of(task, strips));
    std::erase_if(list_.merges, [](const WorkMerge& merge) { return merge.parts == 1; });
    // Pairs with alternate steps first, so that each pair is a block's.
    std::ranges::stable_sort(list_.walks, std::ranges::greater{}, [&](const WorkWalk& walk) {
      return std::pair(walk.steps_apart, cut_.by_strips ? walk.rows.count / walk.steps_apart : 0);
    });
  }

  [[nodiscard]] bool alternates() const { return cut_.alternate && list_.by_head; }

  /// Number of parts of at most `size` rows of the task.
  [[nodiscard]] static std::int64_t parts_of(const WalkedTask& task, std::int64_t size) {
    return (task.rows.count + size - 1) / size;
  }
  [[nodiscard]] std::int64_t walks_of(const WalkedTask& task, std::int64_t strips) const {
    const std::int64_t walks = parts_of(task, strips * strip_tokens);
    if (alternates()) {
      // Each warp of a pair takes at least one step of the kernel.
      const std::int64_t steps = parts_of(task, broad_strips_of(head_dim_) * strip_tokens);
      return std::max<std::int64_t>(1, std::min((walks + 1) / 2, steps / 2) * 2);
    }
    return std::max<std::int64_t>(1, walks);
  }
  [[nodiscard]] bool fill_the_gpu(std::int64_t strips) const {
    std::int64_t walks = 0, all_strips = 0;
    for (const WalkedTask& task : walked_) {
      walks += walks_of(task, strips);
      all_strips += parts_of(task, strip_tokens);
    }
    return cut_.by_strips ? all_strips * heads_ >= strips * cut_.processors * 16
                          : walks * heads_ >= std::int64_t{cut_.processors} * 12;
  }

  /// A walk that has all keys of its wide rows finishes them.
  void number_partial_rows(std::int64_t strips) {
    for (const WalkedTask& task : walked_) {
      if (task.merge < 0 || task.wide_rows_before > 0) continue;
      merge_of(task).parts += static_cast<std::int32_t>(walks_of(task, strips));
    }
    for (WorkMerge& merge : list_.merges) {
      if (merge.parts == 1) continue;
      merge.first_slot = list_.partial_rows;
      list_.partial_rows += merge.parts * merge.run.count;
      list_.widest_merge = std::max(list_.widest_merge, merge.run.count);
    }
    parts_added_.resize(list_.merges.size());
  }

  [[nodiscard]] WorkMerge& merge_of(const WalkedTask& task) {
    return list_.merges[static_cast<std::size_t>(task.merge)];
  }

  void add_walks(const WalkedTask& task, std::int64_t count) {
    const std::int64_t step_tokens = together_ * strip_tokens, steps = parts_of(task, step_tokens);
    const WorkRun globals = run_of(task.globals);
    // In broad walks, the wide rows use the keys of the walk's own rows.
    const std::int32_t radius = list_.shape.broad ? 0 : radius_of(list_.shape.far);
    const WorkRun rows = task.rows, keys = cuda::run_of({task.keys.begin, task.keys.end});
    const bool in_pairs = alternates() && count > 1;
    list_.neighbours.push_back(keys);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t begin = in_pairs ? i / 2 * 2 : i, end = in_pairs ? begin + 2 : i + 1;
      const auto first = static_cast<std::int32_t>(begin * steps / count * step_tokens);
      const auto last =
          std::min(static_cast<std::int32_t>(end * steps / count * step_tokens), rows.count);
      WorkWalk walk{.rows = part_of(rows, first, last - first),
                    .keys_begin = keys.begin,
                    .keys_end = keys.begin + keys.count,
                    .window = task.window,
                    .globals = globals,
                    .wide = task.wide,
                    .first_step = static_cast<std::int32_t>(i - begin),
                    .steps_apart = in_pairs ? 2 : 1};
      if (task.merge >= 0) {
        // A strip's wide rows use the first keys of its window.
        walk.wide_begin =
            begin == 0 ? rows.begin : std::max(rows.begin, rows.begin + first - radius);
        walk.wide_end = end == count ? rows.begin + rows.count : rows.begin + last - radius;
        walk.wide_takes_globals = i == 0 && task.wide_takes_globals ? 1 : 0;
        std::int32_t& parts = parts_added_[static_cast<std::size_t>(task.merge)];
        if (task.wide_rows_before == 0) ++parts;
        walk.is_first_part = parts == 1 ? 1 : 0;
        if (const WorkMerge& merge = merge_of(task); merge.parts > 1) {
          walk.first_slot =
              merge.first_slot + (parts - 1) * merge.run.count + task.wide_rows_before;
        }
      }
      list_.walks.push_back(walk);
    }
  }

  /// A range if the tokens are adjacent.
  WorkRun run_of(const std::vector<std::int32_t>& tokens) {
    std::vector<TokenRange> intervals;
    intervals.reserve(tokens.size());
    for (const std::int64_t token : tokens) intervals.push_back({token, token + 1});
    merge_intervals(intervals);
    return as_run(intervals, list_.indices);
  }

  Direction& rows_;
  std::int32_t heads_;
  std::int64_t head_dim_;
  const WalkCut& cut_;
  WalkList& list_;
  std::int64_t together_ = 1;  // strips that are computed together and not separated
  std::vector<WalkedTask> walked_;
  std::map<std::int64_t, std::vector<std::size_t>> of_item_;
  std::vector<std::int32_t> parts_added_;  // of each merge
};

/// Creates walks for the supported part of a direction, which keeps the rest.
std::optional<WalkList> walk(Direction& direction, Indices indices, std::int32_t heads,
                             std::int64_t head_dim, const WalkCut& cut, bool by_head) {
  WalkList list;
  list.indices.assign(indices.begin(), indices.end());
  Walking(direction, heads, head_dim, cut, list).cut(by_head);
  const std::int64_t warps = static_cast<std::int64_t>(list.walks.size()) * heads;
  if (warps == 0 || warps > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  return list;
}

/// Whether the backward kernels support the walks.
bool suits_backward(const WalkList& list) {
  return std::ranges::all_of(
      list.walks, [](const WorkWalk& walk) { return walk.globals.count <= most_globals(false); });
}

}  // namespace

std::optional<Walks> cut_into_walks(const AttentionPlan& plan, std::int64_t head_dim, DType dtype,
                                    Passes passes, const WalkCut& cut) {
  if (!has_walks(head_dim, dtype)) return std::nullopt;
  Walks walks;
  WorkList& rest = walks.rest;
  rest = empty_list(plan);
  if (rest.heads_per_unit != plan.heads) return std::nullopt;  // heads differ
  const std::vector<WorkSegment> segments = directed_segments(plan, rest.indices);
  const Direction all_rows = rows_direction(plan, {0, plan.heads}, segments, rest.indices);
  Direction rows = all_rows;
  std::optional<WalkList> of_rows = walk(rows, rest.indices, plan.heads, head_dim, cut, false);
  if (!of_rows || !has_walks(head_dim, dtype, of_rows->shape)) return std::nullopt;
  walks.rows = *std::move(of_rows);
  add_units(rows, {0, plan.heads}, rest);
  rest.row_units = static_cast<std::int32_t>(rest.units.size());
  if (passes == Passes::forward || !suits_backward(walks.rows)) return walks;
  Direction keys = keys_direction(all_rows, rest.tokens, rest.indices);
  std::optional<WalkList> of_keys =
      walk(keys, rest.indices, plan.heads, head_dim, cut, /*by_head=*/cut.alternate);
  if (!of_keys || !suits_backward(*of_keys)) return walks;
  walks.keys = std::move(of_keys);
  add_units(keys, {0, plan.heads}, rest);
  return walks;
}

}  // namespace attnscope::cuda
