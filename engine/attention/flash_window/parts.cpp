// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/flash_window/parts.h"

#include <map>
#include <utility>

namespace attnscope {
namespace {

/// The token group of a task's first row: tasks of one group share calls.
TokenGroup group_of(const Problem& problem, const Task& task) {
  if (task.item < 0) return TokenGroup::query;
  const std::int64_t first = task.queries.begin;
  const TokenRange cls = problem.layout.cls(task.item);
  if (first >= cls.begin && first < cls.end) return TokenGroup::cls;
  const TokenRange query = problem.layout.query(task.item);
  return first >= query.begin && first < query.end ? TokenGroup::query : TokenGroup::document;
}

Status is_one_call(const Problem& problem, const Task& task, const Segment& segment) {
  if (segment.keys.listed || segment.skip_begin != segment.skip_end) {
    return fail(
        "flash-window has calls for contiguous keys alone, and pattern {} has global tokens "
        "scattered in the document",
        problem.pattern.name);
  }
  if (segment.kind == SegmentKind::block) {
    return fail("flash-window has a window and no blocks, which pattern {} needs",
                problem.pattern.name);
  }
  if (segment.kind == SegmentKind::band &&
      (segment.offset != 0 || segment.keys.begin != task.queries.begin ||
       segment.keys.end != task.queries.end)) {
    return fail(
        "flash-window has a window of a token range over itself alone, and pattern {} has one over "
        "another range",
        problem.pattern.name);
  }
  return {};
}

Status is_one_group(const Problem& problem, const Task& task) {
  if (task.queries.listed) {
    return fail(
        "flash-window has calls for contiguous rows alone, and pattern {} has global tokens "
        "scattered in the document",
        problem.pattern.name);
  }
  if (task.heads.begin != 0 || task.heads.end != problem.plan.heads) {
    return fail("flash-window attends alike in all heads, and pattern {} differs between them",
                problem.pattern.name);
  }
  return {};
}

/// A whole run in one or two pieces: the first item's tokens directly follow a shared query's and
/// would otherwise form one run, in contrast to those of every other item.
std::vector<TokenRange> pieces_of(const Problem& problem, const Task& task, TokenRange keys) {
  const std::int64_t border = problem.layout.shared_query();
  if (task.item < 0 || keys.begin >= border || keys.end <= border) return {keys};
  return {{keys.begin, border}, {border, keys.end}};
}

/// The common properties of tasks that share calls.
using Signature = std::pair<TokenGroup, std::vector<std::int64_t>>;

}  // namespace

Result<std::vector<RowGroup>> parts_of(const Problem& problem) {
  std::vector<RowGroup> groups;
  std::map<Signature, std::size_t> known;
  for (const Task& task : problem.plan.tasks) {
    if (task.queries.size() == 0) continue;
    if (Status ok = is_one_group(problem, task); !ok) return tl::unexpected(ok.error());
    Signature signature{group_of(problem, task), {}};
    std::vector<TokenRange> keys;
    for (const Segment& segment : problem.plan.segments_of(task)) {
      if (segment.keys.size() == 0) continue;
      if (Status ok = is_one_call(problem, task, segment); !ok) return tl::unexpected(ok.error());
      const TokenRange range{segment.keys.begin, segment.keys.end};
      if (segment.kind == SegmentKind::band) {
        signature.second.push_back(segment.window);
        keys.push_back(range);
        continue;
      }
      for (const TokenRange& piece : pieces_of(problem, task, range)) {
        signature.second.push_back(AttentionPart::no_window);
        keys.push_back(piece);
      }
    }
    const auto [place, is_new] = known.emplace(signature, groups.size());
    if (is_new) {
      groups.emplace_back();
      for (const std::int64_t window : signature.second) {
        groups.back().parts.push_back({.keys = {}, .window = window});
      }
    }
    RowGroup& group = groups[place->second];
    group.queries.push_back({task.queries.begin, task.queries.end});
    for (std::size_t p = 0; p < keys.size(); ++p) group.parts[p].keys.push_back(keys[p]);
  }
  return groups;
}

}  // namespace attnscope
