// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/work/directed_tasks.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "kernels/cuda/work/rules.h"
#include "kernels/plan/key_runs.h"

namespace attnscope::cuda {
namespace {

/// A listed run without its skipped tokens: a list of its own.
WorkRun without_skipped(const AttentionPlan& plan, const Segment& segment,
                        std::vector<std::int32_t>& indices) {
  const auto begin = static_cast<std::int32_t>(indices.size());
  const auto skipped = plan.skipped_of(segment);
  for (const std::int64_t token : listed_tokens(plan, segment.keys)) {
    if (std::ranges::binary_search(skipped, token)) continue;
    indices.push_back(static_cast<std::int32_t>(token));
  }
  return {begin, static_cast<std::int32_t>(indices.size()) - begin, 1};
}

WorkSegment directed(const AttentionPlan& plan, const Segment& segment,
                     std::vector<std::int32_t>& indices) {
  const TokenRange keys = hull_of(plan, segment.keys);
  const TokenInterval hull{static_cast<std::int32_t>(keys.begin),
                           static_cast<std::int32_t>(keys.end)};
  WorkSegment made{
      .run = run_of(segment.keys), .rule = rule_of(segment, hull, plan.tokens), .skipped = {}};
  const auto skipped = attnscope::within(plan.skipped_of(segment), keys);
  if (!skipped.empty() && segment.keys.listed) {
    made.run = without_skipped(plan, segment, indices);
  } else if (!skipped.empty()) {
    made.skipped = {static_cast<std::int32_t>(skipped.data() - plan.indices.data()),
                    static_cast<std::int32_t>(skipped.size()), 1};
  }
  if (made.run.count == 0) made.rule = {};
  return made;
}

/// Appends those of a task's segments that anybody sees, neighbouring whole ones as one.
void append_segments(std::span<const WorkSegment> segments, Direction& direction,
                     DirectedTask& task) {
  const auto joinable = [](const WorkSegment& s) {
    return s.rule.kind == RuleKind::whole && s.run.listed == 0 && s.skipped.count == 0;
  };
  const std::size_t first = direction.segments.size();
  for (const WorkSegment& segment : segments) {
    if (segment.rule.kind == RuleKind::none) continue;
    if (direction.segments.size() > first && joinable(segment)) {
      WorkSegment& last = direction.segments.back();
      if (joinable(last) && last.rule.end == segment.rule.begin) {
        last.run.count += segment.run.count;
        last.rule.end = segment.rule.end;
        continue;
      }
    }
    direction.segments.push_back(segment);
  }
  task.first_segment = static_cast<std::int32_t>(first);
  task.segments = static_cast<std::int32_t>(direction.segments.size() - first);
}

/// The item of several tasks; -1 when they are of several.
std::int64_t item_of(std::span<const Task* const> tasks) {
  const std::int64_t item = tasks.front()->item;
  const bool same = std::ranges::all_of(tasks, [&](const Task* t) { return t->item == item; });
  return same ? item : -1;
}

/// The tokens of several tasks, ascending.
std::vector<TokenInterval> tokens_of(const AttentionPlan& plan,
                                     std::span<const Task* const> tasks) {
  std::vector<TokenInterval> intervals;
  for (const Task* task : tasks) {
    const WorkRun run = run_of(task->queries);
    if (!task->queries.listed) {
      intervals.push_back({run.begin, run.begin + run.count});
      continue;
    }
    for (const std::int64_t token : listed_tokens(plan, task->queries)) {
      const auto t = static_cast<std::int32_t>(token);
      intervals.push_back({t, t + 1});
    }
  }
  std::ranges::sort(intervals, {}, &TokenInterval::begin);
  return intervals;
}

}  // namespace

std::vector<WorkSegment> directed_segments(const AttentionPlan& plan,
                                           std::vector<std::int32_t>& indices) {
  indices.reserve(plan.indices.size());
  for (const std::int64_t token : plan.indices) indices.push_back(static_cast<std::int32_t>(token));
  std::vector<WorkSegment> segments;
  segments.reserve(plan.segments.size());
  for (const Segment& segment : plan.segments) segments.push_back(directed(plan, segment, indices));
  return segments;
}

Direction rows_direction(const AttentionPlan& plan, HeadRange heads,
                         std::span<const WorkSegment> segments,
                         std::vector<std::int32_t>& indices) {
  // Sentence starts cut a document's rows into many tasks with one list of segments, and tiny items
  // may all see nothing but a shared query.
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<const Task*>> alike;
  for (const Task& task : plan.tasks) {
    if (task.heads.begin > heads.begin || task.heads.end < heads.end) continue;
    if (task.queries.size() <= 0) continue;
    const std::int64_t first = task.segment_count == 0 ? 0 : task.first_segment;
    alike[{first, task.segment_count}].push_back(&task);
  }
  Direction direction{.tasks = {}, .segments = {}};
  for (const auto& [key, tasks] : alike) {
    const auto& [first, count] = key;
    DirectedTask task{.run = {}, .item = item_of(tasks)};
    append_segments(
        segments.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)),
        direction, task);
    std::vector<WorkRun> runs{run_of(tasks.front()->queries)};
    if (tasks.size() > 1) runs = runs_of(tokens_of(plan, tasks), indices);
    for (const WorkRun& run : runs) {
      task.run = run;
      direction.tasks.push_back(task);
    }
  }
  std::ranges::stable_sort(direction.tasks, {}, [&](const DirectedTask& task) {
    return token_at(task.run, 0, indices);
  });
  return direction;
}

namespace {

/// Rows that see keys by one rule.
struct Incident {
  std::int32_t task = 0;  // of the rows
  WorkRule rule;          // from a key to the rows that see it
};

/// An incident begins or ends to hold at a token.
struct Change {
  std::int32_t token = 0;
  std::int32_t incident = 0;
  bool begins = false;
};

using Incidents = std::vector<std::int32_t>;  // ascending

class Transposition {
 public:
  Transposition(const Direction& rows, std::vector<std::int32_t>& indices)
      : rows_(rows), indices_(indices) {
    for (std::size_t task = 0; task < rows.tasks.size(); ++task) {
      for (const WorkSegment& segment : rows.segments_of(rows.tasks[task])) {
        add_changes(segment, incident_of(static_cast<std::int32_t>(task), segment.rule));
      }
    }
    std::ranges::sort(changes_, {}, [](const Change& change) {
      return std::tuple(change.token, change.incident, change.begins);
    });
  }

  Direction keys(std::int32_t tokens) {
    gather_classes(tokens);
    Direction direction{.tasks = {}, .segments = {}};
    for (const auto& [incidents, intervals] : classes_) add_tasks(incidents, intervals, direction);
    std::ranges::stable_sort(direction.tasks, {}, [&](const DirectedTask& task) {
      return token_at(task.run, 0, indices_);
    });
    return direction;
  }

 private:
  /// One number for the same rows and rule, whatever segment they come from.
  std::int32_t incident_of(std::int32_t task, const WorkRule& rule) {
    const WorkRun& run = rows_.tasks[static_cast<std::size_t>(task)].run;
    const WorkRule back = mirrored(rule, hull_of(run, indices_));
    const auto [found, is_new] =
        numbers_.try_emplace({task, back}, static_cast<std::int32_t>(incidents_.size()));
    if (is_new) incidents_.push_back({task, back});
    return found->second;
  }

  void add_changes(const WorkSegment& segment, std::int32_t incident) {
    const auto add = [&](std::int32_t begin, std::int32_t end) {
      if (begin >= end) return;
      changes_.push_back({begin, incident, true});
      changes_.push_back({end, incident, false});
    };
    if (segment.run.listed != 0) {
      for (std::int32_t i = 0; i < segment.run.count; ++i) {
        const std::int32_t token = token_at(segment.run, i, indices_);
        add(token, token + 1);
      }
      return;
    }
    std::int32_t begin = segment.run.begin;
    for (std::int32_t i = 0; i < segment.skipped.count; ++i) {
      const std::int32_t token = token_at(segment.skipped, i, indices_);
      add(begin, token);
      begin = token + 1;
    }
    add(begin, segment.run.begin + segment.run.count);
  }

  void gather_classes(std::int32_t tokens) {
    Incidents held;
    std::int32_t token = 0;
    std::size_t change = 0;
    while (token < tokens) {
      held = after_changes(held, token, change);
      const std::int32_t next = change < changes_.size() ? changes_[change].token : tokens;
      classes_[held].push_back({token, next});
      token = next;
    }
  }

  /// What holds from `token` on; `change` moves behind its changes. An incident that ends where it
  /// begins anew goes on.
  Incidents after_changes(const Incidents& held, std::int32_t token, std::size_t& change) const {
    Incidents begun, ended, kept, all;
    for (; change < changes_.size() && changes_[change].token == token; ++change) {
      (changes_[change].begins ? begun : ended).push_back(changes_[change].incident);
    }
    if (begun.empty() && ended.empty()) return held;
    std::ranges::set_difference(held, ended, std::back_inserter(kept));
    std::ranges::set_union(kept, begun, std::back_inserter(all));
    return all;
  }

  void add_tasks(const Incidents& incidents, std::span<const TokenInterval> intervals,
                 Direction& direction) {
    DirectedTask task;
    append_segments(segments_of(incidents, task.item), direction, task);
    for (const WorkRun& run : runs_of(intervals, indices_)) {
      task.run = run;
      direction.tasks.push_back(task);
    }
  }

  /// What streams past keys with these incidents, by ascending tokens, and whose item they are.
  std::vector<WorkSegment> segments_of(const Incidents& incidents, std::int64_t& item) const {
    std::vector<WorkSegment> segments;
    for (const std::int32_t number : incidents) {
      const Incident& incident = incidents_[static_cast<std::size_t>(number)];
      const DirectedTask& rows = rows_.tasks[static_cast<std::size_t>(incident.task)];
      item = segments.empty() || item == rows.item ? rows.item : -1;
      segments.push_back({.run = rows.run, .rule = incident.rule, .skipped = {}});
    }
    std::ranges::stable_sort(segments, {}, [](const WorkSegment& segment) {
      return std::pair(segment.run.listed, segment.run.begin);
    });
    return segments;
  }

  const Direction& rows_;
  std::vector<std::int32_t>& indices_;
  std::vector<Incident> incidents_;
  std::map<std::pair<std::int32_t, WorkRule>, std::int32_t> numbers_;
  std::vector<Change> changes_;
  std::map<Incidents, std::vector<TokenInterval>> classes_;
};

}  // namespace

Direction keys_direction(const Direction& rows, std::int32_t tokens,
                         std::vector<std::int32_t>& indices) {
  return Transposition(rows, indices).keys(tokens);
}

}  // namespace attnscope::cuda
