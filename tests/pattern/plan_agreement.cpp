// SPDX-License-Identifier: Apache-2.0
#include "tests/pattern/plan_agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "engine/pattern/compile_plan.h"
#include "engine/pattern/mask.h"
#include "engine/pattern/oracle.h"
#include "kernels/plan/counts.h"
#include "kernels/plan/key_runs.h"

namespace attnscope::testing {
namespace {

using ::testing::AssertionFailure;
using ::testing::AssertionResult;
using ::testing::AssertionSuccess;

/// The problem in one line, for failure messages.
std::string describe(const AttentionPattern& pattern, std::optional<Window> window,
                     const SequenceLayout& layout) {
  return fmt::format("{} w={} {}", pattern_json(pattern), window ? window->text() : "none",
                     layout_json(layout));
}

/// The keys of a row as flags; failure when a segment shows a key that another already showed.
AssertionResult row_of(const AttentionPlan& plan, const Task& task, std::int64_t query,
                       std::vector<char>& seen) {
  std::fill(seen.begin(), seen.end(), 0);
  std::vector<TokenRange> intervals;
  for (const Segment& segment : plan.segments_of(task)) {
    intervals.clear();
    append_key_intervals(plan, segment, query, intervals);
    std::int64_t last = -1;
    for (const TokenRange& range : intervals) {
      if (range.begin <= last || range.empty()) {
        return AssertionFailure() << "intervals of a segment touch or are empty, row " << query;
      }
      last = range.end;
      for (std::int64_t key = range.begin; key < range.end; ++key) {
        char& flag = seen[static_cast<std::size_t>(key)];
        if (flag != 0) return AssertionFailure() << "row " << query << " sees " << key << " twice";
        flag = 1;
      }
    }
  }
  return AssertionSuccess();
}

/// Sums over all heads.
struct Sums {
  std::int64_t pairs = 0;
  std::int64_t rows = 0;
  std::vector<char> keys;  // [heads, tokens]: seen by some row
};

/// One task in one head.
AssertionResult task_agrees(const AttentionPlan& plan, const Task& task, std::int32_t head,
                            const Oracle& oracle, Sums& sums) {
  std::vector<char> seen(static_cast<std::size_t>(plan.tokens));
  for (std::int64_t position = 0; position < task.queries.size(); ++position) {
    const std::int64_t query = plan.token_at(task.queries, position);
    if (AssertionResult row = row_of(plan, task, query, seen); !row) return row;
    std::int64_t pairs = 0;
    for (std::int64_t key = 0; key < plan.tokens; ++key) {
      const bool in_plan = seen[static_cast<std::size_t>(key)] != 0;
      if (in_plan != oracle.allowed(head, query, key)) {
        return AssertionFailure() << "the plan " << (in_plan ? "allows" : "refuses") << ", but "
                                  << oracle.explain(query, key, head) << " (row " << query
                                  << ", key " << key << ", head " << head << ")";
      }
      if (!in_plan) continue;
      ++pairs;
      sums.keys[static_cast<std::size_t>(head * plan.tokens + key)] = 1;
    }
    sums.pairs += pairs;
    sums.rows += pairs > 0 ? 1 : 0;
  }
  return AssertionSuccess();
}

AssertionResult rows_agree(const AttentionPlan& plan, const Oracle& oracle, Sums& sums) {
  sums.keys.assign(static_cast<std::size_t>(plan.heads * plan.tokens), 0);
  for (const Task& task : plan.tasks) {
    for (std::int32_t head = task.heads.begin; head < task.heads.end; ++head) {
      AssertionResult agrees = task_agrees(plan, task, head, oracle, sums);
      if (!agrees) return agrees;
    }
  }
  return AssertionSuccess();
}

AssertionResult counts_agree(const AttentionPlan& plan, const Sums& sums) {
  const PlanCounts counts = count(plan);
  if (counts.pairs != sums.pairs || counts.query_rows != sums.rows ||
      counts.exponentials != counts.pairs) {
    return AssertionFailure() << "counted " << counts.pairs << " pairs, " << counts.query_rows
                              << " rows, " << counts.exponentials << " exponentials instead of "
                              << sums.pairs << ", " << sums.rows;
  }
  const auto keys = std::count(sums.keys.begin(), sums.keys.end(), 1);
  const double bytes = static_cast<double>(2 * (sums.rows + keys) * 8 * 4);
  if (least_bytes(plan, 8, DType::float32) != bytes) {
    return AssertionFailure() << "least bytes " << least_bytes(plan, 8, DType::float32)
                              << " instead of " << bytes;
  }
  return AssertionSuccess();
}

}  // namespace

std::vector<std::string> text_of(const AttentionPlan& plan) {
  const auto run = [&](const TokenRun& tokens) {
    if (!tokens.listed) return fmt::format("{}-{}", tokens.begin, tokens.end);
    std::string list = "{";
    for (std::int64_t i = 0; i < tokens.size(); ++i) {
      list += fmt::format("{}{}", i > 0 ? " " : "", plan.token_at(tokens, i));
    }
    return list + "}";
  };
  std::vector<std::string> lines;
  for (const Task& task : plan.tasks) {
    std::string line = fmt::format("{}:", run(task.queries));
    for (const Segment& segment : plan.segments_of(task)) {
      line += segment.kind == SegmentKind::whole ? " whole "
                                                 : fmt::format(" band({}) ", segment.window);
      line += run(segment.keys);
      for (const std::int64_t token : plan.skipped_of(segment))
        line += fmt::format(" but {}", token);
    }
    lines.push_back(line);
  }
  return lines;
}

AssertionResult is_well_formed(const AttentionPlan& plan) {
  std::vector<int> tasks_of(static_cast<std::size_t>(plan.tokens * plan.heads));
  std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> last_first;  // by head range
  for (const Task& task : plan.tasks) {
    if (task.queries.size() <= 0) return AssertionFailure() << "a task without rows";
    if (task.heads.begin < 0 || task.heads.end > plan.heads || task.heads.begin >= task.heads.end) {
      return AssertionFailure() << "a task whose heads are not the plan's";
    }
    const std::int64_t first = plan.token_at(task.queries, 0);
    const auto [last, is_first] = last_first.try_emplace({task.heads.begin, task.heads.end}, first);
    if (!is_first && first <= last->second) {
      return AssertionFailure() << "tasks out of order at row " << first;
    }
    last->second = first;
    for (std::int64_t i = 0; i < task.queries.size(); ++i) {
      const std::int64_t row = plan.token_at(task.queries, i);
      for (std::int32_t head = task.heads.begin; head < task.heads.end; ++head) {
        ++tasks_of[static_cast<std::size_t>(head * plan.tokens + row)];
      }
    }
    for (const Segment& segment : plan.segments_of(task)) {
      if (segment.keys.size() <= 0) return AssertionFailure() << "a segment without keys";
    }
  }
  for (std::size_t row = 0; row < tasks_of.size(); ++row) {
    if (tasks_of[row] != 1) {
      const auto tokens = static_cast<std::size_t>(plan.tokens);
      return AssertionFailure() << "row " << row % tokens << " of head " << row / tokens
                                << " lies in " << tasks_of[row] << " tasks";
    }
  }
  return AssertionSuccess();
}

AssertionResult plan_agrees(const AttentionPattern& pattern, std::optional<Window> window,
                            const SequenceLayout& layout, std::int32_t heads) {
  const Result<AttentionPlan> plan = compile_plan(pattern, window, layout, heads);
  if (!plan) return AssertionFailure() << plan.error().message;
  const Oracle oracle(pattern, window, layout);
  Sums sums;
  AssertionResult result = is_well_formed(*plan);
  if (result) result = rows_agree(*plan, oracle, sums);
  if (result) result = counts_agree(*plan, sums);
  if (!result) result << "\nin " << describe(pattern, window, layout);
  return result;
}

}  // namespace attnscope::testing
