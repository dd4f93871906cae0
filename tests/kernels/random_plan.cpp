// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/random_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace attnscope::testing {
namespace {

/// The tokens of one item, or of the shared query.
struct Item {
  std::int64_t number;
  TokenRange tokens;
};

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}

  AttentionPlan plan() {
    plan_ = {};
    plan_.heads = static_cast<std::int32_t>(number(1, 3));
    plan_.tokens = one_in(4) ? number(1, 40) : number(40, 700);
    draw_items();
    for (const Item& item : items_) draw_tasks(item);
    return plan_;
  }

 private:
  std::int64_t number(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  bool one_in(std::int64_t n) { return number(1, n) == 1; }

  /// Cuts a range into up to `most` parts, none of them empty.
  std::vector<TokenRange> parts(TokenRange range, std::int64_t most) {
    std::vector<std::int64_t> cuts{range.begin, range.end};
    for (std::int64_t i = number(0, most - 1); i > 0; --i) {
      cuts.push_back(number(range.begin, range.end));
    }
    std::ranges::sort(cuts);
    std::vector<TokenRange> found;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      if (cuts[i] < cuts[i + 1]) found.push_back({cuts[i], cuts[i + 1]});
    }
    return found;
  }

  void draw_items() {
    std::int64_t next = one_in(2) ? -1 : 0;  // -1: the first tokens are a shared query
    for (const TokenRange& tokens : parts({0, plan_.tokens}, 5)) items_.push_back({next++, tokens});
    // Some batches keep to the rule that items see themselves and the shared query alone.
    separate_ = !one_in(3);
  }

  void draw_tasks(const Item& item) {
    for (const TokenRange& rows : parts(item.tokens, 3)) {
      if (one_in(4) && plan_.heads > 1) {
        const auto cut = static_cast<std::int32_t>(number(1, plan_.heads - 1));
        draw_runs(item, rows, {0, cut});
        draw_runs(item, rows, {cut, plan_.heads});
      } else {
        draw_runs(item, rows, {0, plan_.heads});
      }
    }
  }

  /// One task of a range, or two of lists that take turns.
  void draw_runs(const Item& item, TokenRange rows, HeadRange heads) {
    if (!one_in(4) || rows.size() < 2) {
      draw_task(item, {rows.begin, rows.end, false}, heads);
      return;
    }
    std::vector<std::int64_t> ours{rows.begin}, others;
    for (std::int64_t t = rows.begin + 1; t < rows.end; ++t) {
      (one_in(3) ? ours : others).push_back(t);
    }
    draw_task(item, listed(ours), heads);
    if (!others.empty()) draw_task(item, listed(others), heads);
  }

  TokenRun listed(const std::vector<std::int64_t>& tokens) {
    const auto begin = static_cast<std::int64_t>(plan_.indices.size());
    plan_.indices.insert(plan_.indices.end(), tokens.begin(), tokens.end());
    return {begin, static_cast<std::int64_t>(plan_.indices.size()), true};
  }

  void draw_task(const Item& item, TokenRun queries, HeadRange heads) {
    Task task{.queries = queries,
              .heads = heads,
              .item = item.number,
              .first_segment = static_cast<std::int64_t>(plan_.segments.size()),
              .segment_count = 0};
    std::vector<TokenRange> reachable;
    if (separate_) {
      if (items_.front().number == -1 && item.number != -1) {
        reachable.push_back(items_.front().tokens);
      }
      reachable.push_back(item.tokens);
    } else {
      reachable.push_back({0, plan_.tokens});
    }
    for (const TokenRange& range : reachable) {
      for (const TokenRange& keys : parts(range, 3)) {
        if (!one_in(4)) draw_segment(keys);
      }
    }
    task.segment_count = static_cast<std::int64_t>(plan_.segments.size()) - task.first_segment;
    plan_.tasks.push_back(task);
  }

  void draw_segment(TokenRange keys) {
    Segment segment{.keys = {keys.begin, keys.end, false}};
    const std::int64_t skip_one_in = number(2, 40);
    std::vector<std::int64_t> left_out, taken;
    for (std::int64_t t = keys.begin; t < keys.end; ++t) {
      (one_in(skip_one_in) ? left_out : taken).push_back(t);
    }
    if (one_in(4) && !taken.empty()) segment.keys = listed(taken);
    if (one_in(3)) {
      const TokenRun skipped = listed(left_out);
      segment.skip_begin = skipped.begin;
      segment.skip_end = skipped.end;
    }
    if (one_in(2)) {
      segment.kind = one_in(3) ? SegmentKind::block : SegmentKind::band;
      segment.window = one_in(3) ? number(1, 3) : number(1, 200);
      if (segment.kind == SegmentKind::band && one_in(4)) segment.window = 0;
      if (one_in(3)) segment.offset = number(-100, 100);
    }
    plan_.segments.push_back(segment);
  }

  std::mt19937 random_;
  AttentionPlan plan_;
  std::vector<Item> items_;
  bool separate_ = true;
};

std::string text_of(const TokenRun& run) {
  return fmt::format("{}{}..{}", run.listed ? "listed " : "", run.begin, run.end);
}

}  // namespace

AttentionPlan random_plan(unsigned seed) {
  return Draw(seed).plan();
}

std::string text_of(const AttentionPlan& plan) {
  std::string text = fmt::format("{} tokens, {} heads\n", plan.tokens, plan.heads);
  for (const Task& task : plan.tasks) {
    text += fmt::format("item {} heads {}..{} queries {}\n", task.item, task.heads.begin,
                        task.heads.end, text_of(task.queries));
    for (const Segment& s : plan.segments_of(task)) {
      text += fmt::format("  kind {} keys {} window {} offset {} skips {}..{}\n",
                          static_cast<int>(s.kind), text_of(s.keys), s.window, s.offset,
                          s.skip_begin, s.skip_end);
    }
  }
  return text;
}

}  // namespace attnscope::testing
