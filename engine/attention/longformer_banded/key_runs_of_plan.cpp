// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/longformer_banded/key_runs_of_plan.h"

#include <algorithm>
#include <iterator>
#include <set>

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

}  // namespace attnscope::longformer_banded
