// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "kernels/cuda/work/directed_tasks.h"
#include "kernels/cuda/work/rules.h"

namespace attnscope::cuda {
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
      for (const DirectedSegment& segment : rows.segments_of(rows.tasks[task])) {
        add_changes(segment, incident_of(static_cast<std::int32_t>(task), segment.rule));
      }
    }
    std::ranges::sort(changes_, {}, [](const Change& change) {
      return std::tuple(change.token, change.incident, change.begins);
    });
  }

  Direction keys(std::int32_t tokens) {
    gather_classes(tokens);
    Direction direction{.kind = UnitKind::keys, .tasks = {}, .segments = {}};
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
    const auto [found, is_new] = numbers_.try_emplace(
        {task, back.kind, back.begin, back.end, back.window, back.offset, back.origin, back.back},
        static_cast<std::int32_t>(incidents_.size()));
    if (is_new) incidents_.push_back({task, back});
    return found->second;
  }

  void add_changes(const DirectedSegment& segment, std::int32_t incident) {
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
    for (const WorkRun& run : runs_of(intervals, task.windowed, indices_)) {
      task.run = run;
      direction.tasks.push_back(task);
    }
  }

  /// What streams past keys with these incidents, by ascending tokens, and whose item they are.
  std::vector<DirectedSegment> segments_of(const Incidents& incidents, std::int64_t& item) const {
    std::vector<DirectedSegment> segments;
    for (const std::int32_t number : incidents) {
      const Incident& incident = incidents_[static_cast<std::size_t>(number)];
      const DirectedTask& rows = rows_.tasks[static_cast<std::size_t>(incident.task)];
      item = segments.empty() || item == rows.item ? rows.item : -1;
      segments.push_back(
          {.run = rows.run, .rule = incident.rule, .skipped = {}, .span = {.run = rows.run}});
    }
    std::ranges::stable_sort(segments, {}, [](const DirectedSegment& segment) {
      return std::pair(segment.run.listed, segment.run.begin);
    });
    return segments;
  }

  const Direction& rows_;
  std::vector<std::int32_t>& indices_;
  std::vector<Incident> incidents_;
  std::map<std::tuple<std::int32_t, RuleKind, std::int32_t, std::int32_t, std::int32_t,
                      std::int32_t, std::int32_t, std::int32_t>,
           std::int32_t>
      numbers_;
  std::vector<Change> changes_;
  std::map<Incidents, std::vector<TokenInterval>> classes_;
};

}  // namespace

Direction keys_direction(const Direction& rows, std::int32_t tokens,
                         std::vector<std::int32_t>& indices) {
  return Transposition(rows, indices).keys(tokens);
}

}  // namespace attnscope::cuda
