// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/longformer_banded/plan_lists.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>

#include "kernels/plan/key_runs.h"
#include "kernels/plan/windowed_layout.h"

namespace attnscope::longformer_banded {
namespace {

/// At `token` the view's count of key ranges changes by `by`; the view is open where the sum is 1.
struct Change {
  std::int64_t token;
  std::size_t view;
  int by;
};

/// The runs of the heads [first, last), which are in the same tasks.
class RunsOfHeads {
 public:
  RunsOfHeads(const AttentionPlan& plan, std::int32_t first, std::int32_t last, KeyRuns& to)
      : plan_(plan), first_(first), last_(last), to_(to) {}

  void append() {
    for (std::size_t t = 0; t < plan_.tasks.size(); ++t) {
      const Task& task = plan_.tasks[t];
      if (task.heads.begin > first_ || task.heads.end < last_ || task.queries.size() == 0) continue;
      add_task(static_cast<std::int64_t>(t));
    }
    std::ranges::stable_sort(changes_, {}, &Change::token);
    sums_.assign(views_.size(), 0);
    std::int64_t begin = 0;
    for (const Change& change : changes_) {
      if (change.token > begin) emit({begin, change.token});
      begin = std::max(begin, change.token);
      apply(change);
    }
    if (begin < plan_.tokens) emit({begin, plan_.tokens});
  }

 private:
  void add_task(std::int64_t number) {
    const Task& task = plan_.tasks[static_cast<std::size_t>(number)];
    std::int64_t column = 0;
    for (std::int64_t s = task.first_segment; s < task.first_segment + task.segment_count; ++s) {
      const Segment& segment = plan_.segments[static_cast<std::size_t>(s)];
      add_segment({.task = number, .segment = s, .column = column}, segment);
      column += columns_of(segment);
    }
  }

  void add_segment(const KeyView& view, const Segment& segment) {
    if (!segment.keys.listed) {
      add(view, {segment.keys.begin, segment.keys.end});
      for (const std::int64_t token : plan_.skipped_of(segment)) {
        if (token >= segment.keys.begin && token < segment.keys.end) take_out(token);
      }
      return;
    }
    const auto skipped = plan_.skipped_of(segment);
    for (std::int64_t place = 0; place < segment.keys.size(); ++place) {
      const std::int64_t token = plan_.token_at(segment.keys, place);
      if (std::ranges::binary_search(skipped, token)) continue;
      add({view.task, view.segment, view.column + place}, {token, token + 1});
    }
  }

  void add(const KeyView& view, TokenRange keys) {
    if (keys.empty()) return;
    changes_.push_back({keys.begin, views_.size(), 1});
    changes_.push_back({keys.end, views_.size(), -1});
    views_.push_back({view, keys.begin});
  }
  /// Removes a token from the view added last.
  void take_out(std::int64_t token) {
    changes_.push_back({token, views_.size() - 1, -1});
    changes_.push_back({token + 1, views_.size() - 1, 1});
  }

  void apply(const Change& change) {
    int& sum = sums_[change.view];
    sum += change.by;
    if (sum == 1) {
      open_.insert(change.view);
    } else {
      open_.erase(change.view);
    }
  }

  void emit(TokenRange keys) {
    to_.runs.push_back({.keys = keys,
                        .first_head = first_,
                        .heads = last_ - first_,
                        .first_view = static_cast<std::int64_t>(to_.views.size()),
                        .view_count = static_cast<std::int64_t>(open_.size())});
    for (const std::size_t number : open_) {
      KeyView view = views_[number].view;
      const Segment& segment = plan_.segments[static_cast<std::size_t>(view.segment)];
      if (segment.kind == SegmentKind::whole) view.column += keys.begin - views_[number].first_key;
      to_.views.push_back(view);
    }
  }

  struct Candidate {
    KeyView view;
    std::int64_t first_key;
  };

  const AttentionPlan& plan_;
  std::int32_t first_, last_;
  KeyRuns& to_;
  std::vector<Candidate> views_;
  std::vector<Change> changes_;
  std::vector<int> sums_;
  std::set<std::size_t> open_;  // in the order of tasks and segments, in which sums are computed
};

}  // namespace

KeyRuns key_runs_of(const AttentionPlan& plan) {
  std::set<std::int32_t> borders{0, plan.heads};
  for (const Task& task : plan.tasks) borders.insert({task.heads.begin, task.heads.end});
  KeyRuns result;
  for (auto border = borders.begin(); std::next(border) != borders.end(); ++border) {
    RunsOfHeads(plan, *border, *std::next(border), result).append();
  }
  return result;
}

namespace {

// Upper bound for tokens, columns, windows and offsets: sums of a few of them must fit 32 bits.
constexpr std::int64_t most = std::int64_t{1} << 29;
// Upper bound for floats of all scores: a terabyte, and not too many blocks for one launch.
constexpr std::int64_t most_scores = std::int64_t{1} << 38;

std::int32_t narrow(std::int64_t value) {
  return static_cast<std::int32_t>(value);
}

std::int64_t divided(std::int64_t count, std::int64_t by) {
  return (count + by - 1) / by;
}

/// Number of threads that share one sum of `terms`: one more for every 64 terms, up to the threads
/// of a block. [CLS] attends to a whole document, and all of it attends to [CLS].
std::int32_t parts_of(std::int64_t terms, std::int64_t head_dim) {
  return narrow(std::clamp<std::int64_t>(terms / 64, 1, block_threads / head_dim));
}

/// Number of rows or keys whose sums a block computes.
std::int32_t sums_of(std::int32_t parts, std::int64_t head_dim) {
  return narrow(block_threads / (head_dim * parts));
}

/// Most rows that attend to a key of the run.
std::int64_t terms_of(const AttentionPlan& plan, const KeyRuns& keys, const KeyRun& run) {
  std::int64_t terms = 0;
  for (std::int64_t v = 0; v < run.view_count; ++v) {
    const KeyView& view = keys.views[static_cast<std::size_t>(run.first_view + v)];
    const std::int64_t rows = plan.tasks[static_cast<std::size_t>(view.task)].queries.size();
    const Segment& segment = plan.segments[static_cast<std::size_t>(view.segment)];
    std::int64_t seeing = rows;
    if (segment.kind == SegmentKind::block) seeing = std::min(rows, segment.window);
    if (segment.kind == SegmentKind::band) seeing = std::min(rows, 2 * segment.window + 1);
    terms += seeing;
  }
  return terms;
}

DeviceSegment device_segment(const Segment& segment) {
  return {.kind = segment.kind,
          .listed = segment.keys.listed ? 1 : 0,
          .begin = narrow(segment.keys.begin),
          .end = narrow(segment.keys.end),
          .columns = narrow(columns_of(segment)),
          .offset = narrow(segment.offset),
          .shift = segment.kind == SegmentKind::band ? narrow(segment.offset - segment.window) : 0,
          .reach = segment.kind == SegmentKind::band ? narrow(2 * segment.window + 1) : 0,
          .by_key = stored_by_key(segment) ? 1 : 0,
          .skip_begin = narrow(segment.skip_begin),
          .skip_end = narrow(segment.skip_end)};
}

/// Counts the first blocks, task by task.
class BlockCounter {
 public:
  void add(std::int64_t blocks) {
    firsts_.push_back(total_);
    total_ += blocks;
  }
  [[nodiscard]] const std::vector<std::int64_t>& firsts() const { return firsts_; }
  [[nodiscard]] std::int64_t total() const { return total_; }

 private:
  std::vector<std::int64_t> firsts_;
  std::int64_t total_ = 0;
};

}  // namespace

Status DeviceLists::fit(const AttentionPlan& plan) {
  if (Status s = has_windowed_layout(plan, most_scores); !s) return s;
  bool fit = plan.tokens <= most && static_cast<std::int64_t>(plan.indices.size()) <= most;
  for (const Segment& segment : plan.segments) {
    fit = fit && segment.offset <= most && segment.offset >= -most;
    fit = fit && (segment.kind != SegmentKind::band || segment.window <= most);
  }
  for (const Task& task : plan.tasks) fit = fit && columns_of(plan, task) <= most;
  if (fit) return {};
  return fail(
      "longformer-banded on CUDA supports up to {} tokens, columns and windows; use a smaller "
      "batch "
      "or an infinite window",
      most);
}

template <typename T>
DeviceLists::Place DeviceLists::append(const std::vector<T>& values) {
  const Place place{(bytes_.size() + 15) / 16 * 16, narrow(std::ssize(values))};
  bytes_.resize(place.offset + values.size() * sizeof(T));
  if (!values.empty()) {
    std::memcpy(bytes_.data() + place.offset, values.data(), values.size() * sizeof(T));
  }
  return place;
}

void DeviceLists::add_tasks(const AttentionPlan& plan, std::int64_t head_dim) {
  std::vector<DeviceTask> tasks;
  BlockCounter cells, rows, row_sums;
  for (const Task& task : plan.tasks) {
    const std::int64_t heads = task.heads.end - task.heads.begin;
    const std::int64_t columns = columns_of(plan, task), of_task = rows_of(task);
    const std::int32_t parts = parts_of(columns, head_dim), sums = sums_of(parts, head_dim);
    tasks.push_back({.first_score = score_count_,
                     .first_row = row_count_,
                     .rows = narrow(task.queries.size()),
                     .columns = narrow(columns),
                     .queries = narrow(task.queries.begin),
                     .listed = task.queries.listed ? 1 : 0,
                     .first_head = task.heads.begin,
                     .heads = narrow(heads),
                     .first_segment = narrow(task.first_segment),
                     .segments = narrow(task.segment_count),
                     .parts = parts,
                     .sums = sums});
    cells.add(divided(of_task * columns, block_threads));
    rows.add(divided(of_task, rows_of_warps));
    row_sums.add(divided(of_task, sums));
    score_count_ += of_task * columns;
    row_count_ += of_task;
  }
  tasks_ = append(tasks);
  cells_ = append(cells.firsts());
  rows_ = append(rows.firsts());
  row_sums_ = append(row_sums.firsts());
  blocks_.cells = cells.total();
  blocks_.rows = rows.total();
  blocks_.row_sums = row_sums.total();
}

void DeviceLists::add_key_runs(const AttentionPlan& plan, std::int64_t head_dim) {
  const KeyRuns keys = key_runs_of(plan);
  std::vector<DeviceKeyRun> runs;
  BlockCounter sums;
  for (const KeyRun& run : keys.runs) {
    const std::int32_t parts = parts_of(terms_of(plan, keys, run), head_dim);
    const std::int32_t of_block = sums_of(parts, head_dim);
    runs.push_back({.begin = narrow(run.keys.begin),
                    .end = narrow(run.keys.end),
                    .first_head = narrow(run.first_head),
                    .heads = narrow(run.heads),
                    .first_view = narrow(run.first_view),
                    .views = narrow(run.view_count),
                    .parts = parts,
                    .sums = of_block});
    sums.add(run.heads * divided(run.keys.size(), of_block));
  }
  std::vector<DeviceKeyView> views;
  for (const KeyView& view : keys.views) {
    views.push_back({narrow(view.task), narrow(view.segment), narrow(view.column)});
  }
  runs_ = append(runs);
  views_ = append(views);
  key_sums_ = append(sums.firsts());
  blocks_.key_sums = sums.total();
}

Result<DeviceLists> DeviceLists::make(const AttentionPlan& plan, std::int64_t head_dim,
                                      Passes passes) {
  if (Status s = fit(plan); !s) return tl::unexpected(s.error());
  DeviceLists lists;
  std::vector<DeviceSegment> segments;
  for (const Segment& segment : plan.segments) segments.push_back(device_segment(segment));
  std::vector<std::int32_t> indices;
  for (const std::int64_t token : plan.indices) indices.push_back(narrow(token));
  lists.segments_ = lists.append(segments);
  lists.indices_ = lists.append(indices);
  lists.add_tasks(plan, head_dim);
  if (passes == Passes::forward_backward) lists.add_key_runs(plan, head_dim);
  return lists;
}

Firsts DeviceLists::firsts_at(const std::byte* list, const Place& place) const {
  return {reinterpret_cast<const std::int64_t*>(list + place.offset), place.entries};
}

ListsOnDevice DeviceLists::at(const std::byte* list) const {
  return {.tasks = reinterpret_cast<const DeviceTask*>(list + tasks_.offset),
          .segments = reinterpret_cast<const DeviceSegment*>(list + segments_.offset),
          .indices = reinterpret_cast<const std::int32_t*>(list + indices_.offset),
          .runs = reinterpret_cast<const DeviceKeyRun*>(list + runs_.offset),
          .views = reinterpret_cast<const DeviceKeyView*>(list + views_.offset),
          .cells = firsts_at(list, cells_),
          .rows = firsts_at(list, rows_),
          .row_sums = firsts_at(list, row_sums_),
          .key_sums = firsts_at(list, key_sums_)};
}

}  // namespace attnscope::longformer_banded
