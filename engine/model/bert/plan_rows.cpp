// SPDX-License-Identifier: Apache-2.0
#include "engine/model/bert/plan_rows.h"

#include <algorithm>

namespace attnscope {
namespace {

class RowFilter {
 public:
  RowFilter(const AttentionPlan& plan, const std::vector<bool>& keeps)
      : plan_(plan), keeps_(keeps), result_(plan) {
    result_.tasks.clear();
  }

  AttentionPlan run() && {
    for (const Task& task : plan_.tasks) split(task);
    std::ranges::stable_sort(result_.tasks, [this](const Task& a, const Task& b) {
      if (a.heads.begin != b.heads.begin) return a.heads.begin < b.heads.begin;
      return result_.token_at(a.queries, 0) < result_.token_at(b.queries, 0);
    });
    return std::move(result_);
  }

 private:
  /// Splits a task into runs of consecutive positions that are kept or not kept.
  void split(const Task& task) {
    const std::int64_t size = task.queries.size();
    for (std::int64_t begin = 0; begin < size;) {
      const bool kept = keeps(task, begin);
      std::int64_t end = begin + 1;
      while (end < size && keeps(task, end) == kept) ++end;
      add(task, begin, end, kept);
      begin = end;
    }
  }

  [[nodiscard]] bool keeps(const Task& task, std::int64_t position) const {
    return keeps_[static_cast<std::size_t>(plan_.token_at(task.queries, position))];
  }

  void add(const Task& task, std::int64_t begin, std::int64_t end, bool kept) {
    Task part = task;
    part.queries.begin = task.queries.begin + begin;
    part.queries.end = task.queries.begin + end;
    if (!kept) part.segment_count = 0;
    result_.tasks.push_back(part);
  }

  const AttentionPlan& plan_;
  const std::vector<bool>& keeps_;
  AttentionPlan result_;
};

bool is_global(const AttentionPattern& pattern, TokenGroup group) {
  return std::ranges::all_of(token_groups, [&](TokenGroup other) {
    if (other == TokenGroup::sentence && !pattern.has_sentences()) return true;
    return pattern.rule(group, other).kind == GroupRule::Kind::whole &&
           pattern.rule(other, group).kind == GroupRule::Kind::whole;
  });
}

void append(TokenRange range, std::vector<std::int64_t>& rows) {
  for (std::int64_t token = range.begin; token < range.end; ++token) rows.push_back(token);
}

void append_sentences(const AttentionPattern& pattern, const SequenceLayout& layout,
                      std::int64_t item, std::vector<std::int64_t>& rows) {
  if (layout.item(item).sentences_given) {
    for (const std::int64_t offset : layout.item(item).sentences) {
      rows.push_back(layout.documents(item).begin + offset);
    }
    return;
  }
  if (!pattern.sentence_every) return;
  for (std::int64_t d = 0; d < layout.document_count(item); ++d) {
    const TokenRange document = layout.document(item, d);
    for (std::int64_t t = document.begin; t < document.end; t += *pattern.sentence_every) {
      rows.push_back(t);
    }
  }
}

}  // namespace

AttentionPlan with_rows(const AttentionPlan& plan, const std::vector<bool>& keeps) {
  return RowFilter(plan, keeps).run();
}

AttentionPlan with_other_items(const AttentionPlan& plan, const SequenceLayout& layout,
                               std::int64_t place) {
  AttentionPlan wider = plan;
  const auto first = static_cast<std::int64_t>(wider.indices.size());
  const std::int64_t items = layout.item_count();
  for (std::int64_t i = 0; i < items; ++i)
    wider.indices.push_back(layout.item_tokens(i).begin + place);
  wider.segments.clear();
  for (Task& task : wider.tasks) {
    const auto own = plan.segments_of(task);
    task.first_segment = static_cast<std::int64_t>(wider.segments.size());
    wider.segments.insert(wider.segments.end(), own.begin(), own.end());
    const auto see = [&](std::int64_t begin, std::int64_t end) {
      if (begin < end) wider.segments.push_back({.keys = {first + begin, first + end, true}});
    };
    see(0, task.item);
    see(task.item + 1, items);
    task.segment_count = static_cast<std::int64_t>(wider.segments.size()) - task.first_segment;
  }
  return wider;
}

std::vector<std::int64_t> cls_rows(const SequenceLayout& layout) {
  std::vector<std::int64_t> rows;
  rows.reserve(static_cast<std::size_t>(layout.item_count()));
  for (std::int64_t i = 0; i < layout.item_count(); ++i) append(layout.cls(i), rows);
  return rows;
}

std::vector<std::int64_t> global_rows(const AttentionPattern& pattern,
                                      const SequenceLayout& layout) {
  std::vector<std::int64_t> rows;
  const bool documents = is_global(pattern, TokenGroup::document);
  const bool sentences = pattern.has_sentences() && is_global(pattern, TokenGroup::sentence);
  if (layout.shares_query() && is_global(pattern, TokenGroup::query)) append(layout.query(0), rows);
  for (std::int64_t i = 0; i < layout.item_count(); ++i) {
    if (is_global(pattern, TokenGroup::cls)) append(layout.cls(i), rows);
    if (!layout.shares_query() && is_global(pattern, TokenGroup::query)) {
      append(layout.query(i), rows);
    }
    if (documents) {
      append(layout.documents(i), rows);
    } else if (sentences) {
      append_sentences(pattern, layout, i, rows);
    }
  }
  return rows;
}

std::vector<bool> marked(const std::vector<std::int64_t>& rows, std::int64_t tokens) {
  std::vector<bool> marks(static_cast<std::size_t>(tokens), false);
  for (const std::int64_t row : rows) marks[static_cast<std::size_t>(row)] = true;
  return marks;
}

}  // namespace attnscope
