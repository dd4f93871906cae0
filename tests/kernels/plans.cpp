// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "engine/pattern/compile_plan.h"

namespace attnscope::testing {
namespace {

AttentionPlan empty_plan(std::int64_t tokens, std::int32_t heads) {
  return {.tokens = tokens, .heads = heads, .tasks = {}, .segments = {}, .indices = {}};
}

AttentionPlan blocks(std::int64_t block) {
  AttentionPlan plan = empty_plan(121, 2);
  plan.segments = {{.keys = {0, 1}},
                   {.keys = {1, 121}, .kind = SegmentKind::block, .window = block}};
  plan.tasks = {task_of({0, 1}, {0, 2}, 0, 1), task_of({1, 121}, {0, 2}, 0, 2)};
  return plan;
}

AttentionPlan offset_windows(std::int64_t offset) {
  return plan_of_one_task(
      100, 1,
      {{.keys = {20, 80}, .kind = SegmentKind::band, .window = 3, .offset = offset},
       {.keys = {85, 100}, .kind = SegmentKind::block, .window = 4, .offset = offset}});
}

/// Rows of one group see a window of a later group, and each its own window.
AttentionPlan band_onto_another_group() {
  AttentionPlan plan = empty_plan(301, 2);
  plan.segments = {{.keys = {0, 1}},
                   {.keys = {1, 151}, .kind = SegmentKind::band, .window = 6},
                   {.keys = {151, 301}, .kind = SegmentKind::band, .window = 2, .offset = 150},
                   {.keys = {1, 151}, .kind = SegmentKind::band, .window = 9, .offset = -150},
                   {.keys = {151, 301}}};
  plan.tasks = {task_of({0, 1}, {0, 2}, 4, 1), task_of({1, 151}, {0, 2}, 0, 3),
                task_of({151, 301}, {0, 2}, 3, 1)};
  return plan;
}

AttentionPlan heads_with_segments_of_their_own() {
  AttentionPlan plan = empty_plan(64, 3);
  plan.segments = {{.keys = {0, 16}}, {.keys = {40, 56}}, {.keys = {48, 64}}, {.keys = {8, 9}}};
  plan.tasks = {task_of({0, 64}, {0, 1}, 0, 2), task_of({0, 64}, {1, 3}, 2, 2)};
  return plan;
}

AttentionPlan rows_without_keys() {
  AttentionPlan plan = empty_plan(40, 2);
  // The second task has no segment; rows of the first task far from keys 0 ... 4 see nothing.
  plan.segments = {{.keys = {0, 4}, .kind = SegmentKind::band, .window = 2}};
  plan.tasks = {task_of({0, 30}, {0, 2}, 0, 1), task_of({30, 40}, {0, 2}, 1, 0)};
  return plan;
}

AttentionPlan skipped_keys_in_whole_runs() {
  AttentionPlan plan = empty_plan(70, 2);
  plan.indices = {0, 5, 6, 33, 69};
  plan.segments = {{.keys = {0, 70}, .skip_begin = 0, .skip_end = 5}};
  plan.tasks = {task_of({0, 1}, {0, 2}, 0, 1), task_of({1, 70}, {0, 2}, 0, 1)};
  return plan;
}

AttentionPlan skipped_keys_in_bands() {
  AttentionPlan plan = empty_plan(260, 2);
  for (std::int64_t t = 0; t < 260; t += 13) plan.indices.push_back(t);
  const auto listed = static_cast<std::int64_t>(plan.indices.size());
  plan.segments = {{.keys = {0, listed, true}},
                   {.keys = {0, 260},
                    .kind = SegmentKind::band,
                    .window = 20,
                    .skip_begin = 0,
                    .skip_end = listed}};
  plan.tasks = {task_of({0, 260}, {0, 2}, 0, 2)};
  return plan;
}

AttentionPlan windows_over_listed_keys() {
  AttentionPlan plan = empty_plan(90, 1);
  for (std::int64_t t = 1; t < 90; t += 3) plan.indices.push_back(t);
  const auto listed = static_cast<std::int64_t>(plan.indices.size());
  plan.indices.insert(plan.indices.end(), {4, 52, 88});
  plan.segments = {{.keys = {0, listed, true},
                    .kind = SegmentKind::band,
                    .window = 9,
                    .skip_begin = listed,
                    .skip_end = listed + 3},
                   {.keys = {0, 1}}};
  plan.tasks = {task_of({0, 90}, {0, 1}, 0, 2)};
  return plan;
}

AttentionPlan blocks_over_listed_keys() {
  AttentionPlan plan = empty_plan(150, 1);
  for (std::int64_t t = 2; t < 150; t += t % 5 + 1) plan.indices.push_back(t);
  const auto listed = static_cast<std::int64_t>(plan.indices.size());
  plan.segments = {{.keys = {0, listed, true}, .kind = SegmentKind::block, .window = 24}};
  plan.tasks = {task_of({0, 150}, {0, 1}, 0, 1)};
  return plan;
}

AttentionPlan listed_queries_on_a_band() {
  AttentionPlan plan = empty_plan(200, 1);
  std::vector<std::int64_t> others;
  for (std::int64_t t = 0; t < 200; ++t) (t % 7 == 0 ? plan.indices : others).push_back(t);
  const auto cut = static_cast<std::int64_t>(plan.indices.size());
  plan.indices.insert(plan.indices.end(), others.begin(), others.end());
  plan.segments = {{.keys = {0, 200}, .kind = SegmentKind::band, .window = 5}};
  plan.tasks = {task_of({0, cut, true}, {0, 1}, 0, 1), task_of({cut, 200, true}, {0, 1}, 0, 1)};
  return plan;
}

/// Listed rows see listed keys and the neighbours of these keys, like the sentence rows of the
/// QDS-Transformer.
AttentionPlan listed_queries_and_keys() {
  AttentionPlan plan = empty_plan(220, 2);
  std::vector<std::int64_t> others;
  for (std::int64_t t = 0; t < 220; ++t) (t % 31 == 0 ? plan.indices : others).push_back(t);
  const auto cut = static_cast<std::int64_t>(plan.indices.size());
  plan.indices.insert(plan.indices.end(), others.begin(), others.end());
  plan.segments = {{.keys = {0, cut, true}},
                   {.keys = {0, 220}, .skip_begin = 0, .skip_end = cut},
                   {.keys = {cut, 220, true}, .kind = SegmentKind::band, .window = 3}};
  plan.tasks = {task_of({0, cut, true}, {0, 2}, 0, 2), task_of({cut, 220, true}, {0, 1}, 0, 1),
                task_of({cut, 220, true}, {1, 2}, 2, 1)};
  return plan;
}

/// Rows whose keys are in another part of the batch, as in cross-attention.
AttentionPlan queries_apart_from_keys() {
  AttentionPlan plan = empty_plan(330, 2);
  plan.segments = {{.keys = {200, 330}}, {.keys = {0, 3}}};
  plan.tasks = {task_of({0, 200}, {0, 2}, 0, 1), task_of({200, 330}, {0, 2}, 1, 1)};
  return plan;
}

/// BigBird with blocks of 6 tokens: each head has its own random blocks, and one of the two items
/// is so short that it has full attention.
AttentionPlan random_blocks_of_each_head() {
  const auto layout =
      SequenceLayout::make({{.query = 5, .documents = {104}}, {.query = 5, .documents = {34}}});
  return compile_blocks({.length = 6, .random = 2, .seed = 1}, *layout, /*heads=*/3);
}

/// A few rows with so many keys that kernels split the keys, and rows that see few.
AttentionPlan long_rows(std::int64_t rows) {
  constexpr std::int64_t keys = 5003;
  AttentionPlan plan = empty_plan(keys, 1);
  for (std::int64_t t = 9; t < keys; t += 11) plan.indices.push_back(t);
  const auto skipped = static_cast<std::int64_t>(plan.indices.size());
  plan.segments = {{.keys = {0, 4}},
                   {.keys = {0, skipped, true}},
                   {.keys = {4, keys}, .skip_begin = 0, .skip_end = skipped}};
  plan.tasks = {task_of({0, rows}, {0, 1}, 0, 3), task_of({rows, keys}, {0, 1}, 0, 1)};
  return plan;
}

std::vector<HandMadePlan> all_plans() {
  std::vector<HandMadePlan> plans;
  for (const std::int64_t block : {1, 7, 16, 50, 200}) {
    plans.push_back({fmt::format("blocks of {}", block), blocks(block)});
  }
  for (const std::int64_t offset : {-30, -5, 5, 60}) {
    plans.push_back({fmt::format("windows at offset {}", offset), offset_windows(offset)});
  }
  for (const std::int64_t rows : {1, 12, 33}) {
    plans.push_back({fmt::format("{} long rows", rows), long_rows(rows)});
  }
  plans.push_back({"band onto another group", band_onto_another_group()});
  plans.push_back({"heads with segments of their own", heads_with_segments_of_their_own()});
  plans.push_back({"random blocks of each head", random_blocks_of_each_head()});
  plans.push_back({"rows without keys", rows_without_keys()});
  plans.push_back({"skipped keys in whole runs", skipped_keys_in_whole_runs()});
  plans.push_back({"skipped keys in bands", skipped_keys_in_bands()});
  plans.push_back({"windows over listed keys", windows_over_listed_keys(), true});
  plans.push_back({"blocks over listed keys", blocks_over_listed_keys(), true});
  plans.push_back({"listed queries on a band", listed_queries_on_a_band()});
  plans.push_back({"listed queries and keys", listed_queries_and_keys(), true});
  plans.push_back({"queries apart from keys", queries_apart_from_keys()});
  return plans;
}

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
    // In some batches items see only themselves and the shared query.
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

  /// One task of a range, or two tasks of alternating tokens.
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

const std::vector<HandMadePlan>& hand_made_plans() {
  static const std::vector<HandMadePlan> plans = all_plans();
  return plans;
}

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
