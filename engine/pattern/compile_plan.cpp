// SPDX-License-Identifier: Apache-2.0
#include "engine/pattern/compile_plan.h"

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "engine/pattern/attention_pattern.h"

namespace attnscope {
namespace {

/// With SequenceLayout::max_tokens it keeps pair counts within 64 bits.
constexpr std::int32_t max_heads = 512;

/// A rule with its window or chunk resolved: the tokens of one subsequence to which rows of a group
/// attend.
struct Reach {
  TokenRange tokens;  // of the subsequence: all, or those for the rows of one chunk
  GroupRule::Kind kind = GroupRule::Kind::none;
  std::int64_t window = 0;
  friend bool operator==(const Reach&, const Reach&) = default;
};

/// Collects the segments of one task. Adjacent whole ranges become one segment.
class SegmentList {
 public:
  void add(TokenRun keys, const Reach& reach, TokenRange skip = {}) {
    if (reach.kind == GroupRule::Kind::none || keys.size() == 0) return;
    const bool whole = reach.kind == GroupRule::Kind::whole;
    const Segment segment{.keys = keys,
                          .kind = whole ? SegmentKind::whole : SegmentKind::band,
                          .window = whole ? 0 : reach.window,
                          .skip_begin = skip.begin,
                          .skip_end = skip.end};
    if (!segments_.empty() && joins(segments_.back(), segment)) {
      segments_.back().keys.end = keys.end;
    } else {
      segments_.push_back(segment);
    }
  }
  void add(const Reach& reach) { add(TokenRun{reach.tokens.begin, reach.tokens.end}, reach); }
  [[nodiscard]] const std::vector<Segment>& segments() const { return segments_; }

 private:
  static bool joins(const Segment& first, const Segment& second) {
    const auto plain = [](const Segment& s) {
      return s.kind == SegmentKind::whole && !s.keys.listed && s.skip_begin == s.skip_end;
    };
    return plain(first) && plain(second) && first.keys.end == second.keys.begin;
  }
  std::vector<Segment> segments_;
};

/// Document tokens and their sentence starts, which are a part of plan.indices.
struct DocumentRun {
  TokenRange tokens;
  TokenRange sentences;
};

class PlanCompiler {
 public:
  PlanCompiler(const AttentionPattern& pattern, std::optional<Window> window,
               const SequenceLayout& layout, std::int32_t heads)
      : pattern_(pattern), window_(window), layout_(layout) {
    plan_.tokens = layout.tokens();
    plan_.heads = heads;
  }

  AttentionPlan compile() && {
    if (layout_.shares_query()) add_shared_query();
    for (std::int64_t i = 0; i < layout_.item_count(); ++i) add_item(i);
    return std::move(plan_);
  }

 private:
  void add_shared_query() {
    const TokenRange query{0, layout_.shared_query()};
    for_each_chunk(query, {TokenGroup::query}, [&](TokenRange rows) {
      SegmentList list;
      list.add(reach(TokenGroup::query, TokenGroup::query, query, rows));
      add_task(run_of(rows), -1, list);
    });
    order_and_join_tasks(0);
  }

  void add_item(std::int64_t i) {
    if (pattern_.item) {
      add_item_rule(i);
      return;
    }
    const std::vector<DocumentRun> documents = find_sentences(i);
    const DocumentRun all = {layout_.documents(i),
                             documents.empty() ? TokenRange{}
                                               : TokenRange{documents.front().sentences.begin,
                                                            documents.back().sentences.end}};
    const std::size_t first_task = plan_.tasks.size();
    const auto add_group = [&](TokenGroup group, TokenRange tokens) {
      for_each_chunk(tokens, {group}, [&](TokenRange rows) {
        add_task(run_of(rows), i, keys_of(group, i, all, rows));
      });
    };
    add_group(TokenGroup::cls, layout_.cls(i));
    if (!layout_.shares_query()) add_group(TokenGroup::query, layout_.query(i));
    for (const DocumentRun& document : documents) {
      for_each_chunk(document.tokens, {TokenGroup::document, TokenGroup::sentence},
                     [&](TokenRange rows) {
                       add_document_tasks(i, document, {rows, within(document.sentences, rows)});
                     });
    }
    order_and_join_tasks(first_task);
  }

  void add_item_rule(std::int64_t i) {
    const TokenRange tokens = layout_.item_tokens(i);
    Reach seen = reach(*pattern_.item, tokens, tokens);
    TokenRange rows = tokens;
    if (pattern_.item_hides_documents) {
      seen.tokens.end = layout_.documents(i).begin;
      if (seen.kind == GroupRule::Kind::window)
        rows.end = std::min(rows.end, seen.tokens.end + seen.window);
    }
    SegmentList list;
    list.add(seen);
    add_task(run_of(rows), i, list);
    // Rows that are farther than the window from all their keys.
    if (rows.end < tokens.end) add_task(run_of({rows.end, tokens.end}), i, SegmentList());
  }

  /// Splits the subsequence `tokens` at the chunk ends of every rule among `groups`, which share
  /// it: all rows of a part attend to the same tokens.
  template <typename Add>
  void for_each_chunk(TokenRange tokens, std::initializer_list<TokenGroup> groups, Add add) const {
    for (TokenRange rows{tokens.begin, tokens.begin}; rows.begin < tokens.end;
         rows.begin = rows.end) {
      rows.end = tokens.end;
      for (const TokenGroup from : groups) {
        for (const TokenGroup to : groups) {
          const GroupRule& rule = pattern_.rule(from, to);
          if (rule.kind != GroupRule::Kind::chunks) continue;
          rows.end = std::min(rows.end, chunk_at(rule.chunk, tokens, rows.begin).end);
        }
      }
      add(rows);
    }
  }

  /// The chunk of the subsequence that contains a token.
  static TokenRange chunk_at(const ChunkRule& rule, TokenRange tokens, std::int64_t token) {
    const std::int64_t begin = tokens.begin + (token - tokens.begin) / rule.tokens * rule.tokens;
    return {begin, std::min(begin + rule.tokens, tokens.end)};
  }

  /// Lists the item's sentence starts in plan.indices, document by document.
  std::vector<DocumentRun> find_sentences(std::int64_t i) {
    std::vector<DocumentRun> documents;
    const LayoutItem& item = layout_.item(i);
    const std::int64_t first = layout_.documents(i).begin;
    std::size_t given = 0;
    for (std::int64_t d = 0; d < layout_.document_count(i); ++d) {
      const TokenRange tokens = layout_.document(i, d);
      const std::int64_t begin = index_count();
      if (pattern_.has_sentences() && item.sentences_given) {
        for (; given < item.sentences.size() && first + item.sentences[given] < tokens.end;
             ++given) {
          plan_.indices.push_back(first + item.sentences[given]);
        }
      } else if (pattern_.has_sentences() && pattern_.sentence_every) {
        const std::int64_t stride = std::min(*pattern_.sentence_every, tokens.size());
        for (std::int64_t token = tokens.begin; token < tokens.end; token += stride) {
          plan_.indices.push_back(token);
        }
      }
      documents.push_back({tokens, {begin, index_count()}});
    }
    return documents;
  }

  /// The keys of `rows` of group `from`, all in one chunk: the item's [CLS] and query, then
  /// `documents` (all of the item or, for document tokens, their own).
  SegmentList keys_of(TokenGroup from, std::int64_t i, const DocumentRun& documents,
                      TokenRange rows) const {
    SegmentList list;
    const TokenRange cls = layout_.cls(i);
    const TokenRange query = layout_.query(i);
    // In packed order, so that neighbours are joined: a shared query is before all items.
    if (layout_.shares_query()) list.add(reach(from, TokenGroup::query, query, rows));
    list.add(reach(from, TokenGroup::cls, cls, rows));
    if (!layout_.shares_query()) list.add(reach(from, TokenGroup::query, query, rows));

    const Reach to_document = reach(from, TokenGroup::document, documents.tokens, rows);
    const Reach to_sentence = reach(from, TokenGroup::sentence, documents.tokens, rows);
    if (documents.sentences.empty() || to_document == to_sentence) {
      list.add(to_document);
      return list;
    }
    const TokenRange sentences = within(documents.sentences, to_sentence.tokens);
    if (!sentences.empty()) list.add(run_of_indices(sentences), to_sentence);
    add_but_sentences(list, {to_document.tokens, within(documents.sentences, to_document.tokens)},
                      to_document);
    return list;
  }

  /// Adds the document without its sentence starts. Starts at either end shorten the run; only
  /// those inside it need the list of skipped keys.
  void add_but_sentences(SegmentList& list, const DocumentRun& document,
                         const Reach& to_document) const {
    TokenRange keys = document.tokens;
    TokenRange skip = document.sentences;
    while (!skip.empty() && index(skip.begin) == keys.begin) {
      ++skip.begin;
      ++keys.begin;
    }
    while (!skip.empty() && index(skip.end - 1) == keys.end - 1) {
      --skip.end;
      --keys.end;
    }
    list.add(run_of(keys), to_document, skip.empty() ? TokenRange{} : skip);
  }

  void add_document_tasks(std::int64_t i, const DocumentRun& document, const DocumentRun& rows) {
    const SegmentList of_document = keys_of(TokenGroup::document, i, document, rows.tokens);
    if (rows.sentences.empty()) {
      add_task(run_of(rows.tokens), i, of_document);
      return;
    }
    const SegmentList of_sentence = keys_of(TokenGroup::sentence, i, document, rows.tokens);
    if (of_sentence.segments() == of_document.segments()) {
      add_task(run_of(rows.tokens), i, of_document);
      return;
    }
    add_task(run_of_indices(rows.sentences), i, of_sentence);
    std::int64_t begin = rows.tokens.begin;
    for (std::int64_t s = rows.sentences.begin; s < rows.sentences.end; ++s) {
      add_task({begin, index(s)}, i, of_document);
      begin = index(s) + 1;
    }
    add_task({begin, rows.tokens.end}, i, of_document);
  }

  /// Consecutive tasks with the same list share its segments.
  void add_task(TokenRun queries, std::int64_t item, const SegmentList& list) {
    if (queries.size() <= 0) return;
    Task task{.queries = queries,
              .heads = {0, plan_.heads},
              .item = item,
              .first_segment = static_cast<std::int64_t>(plan_.segments.size()),
              .segment_count = static_cast<std::int64_t>(list.segments().size())};
    if (!plan_.tasks.empty() &&
        std::ranges::equal(plan_.segments_of(plan_.tasks.back()), list.segments())) {
      task.first_segment = plan_.tasks.back().first_segment;
    } else {
      plan_.segments.insert(plan_.segments.end(), list.segments().begin(), list.segments().end());
    }
    plan_.tasks.push_back(task);
  }

  /// Sorts the item's tasks by their first query and joins adjacent ranges with the same segments.
  void order_and_join_tasks(std::size_t first_task) {
    const auto begin = plan_.tasks.begin() + static_cast<std::ptrdiff_t>(first_task);
    std::sort(begin, plan_.tasks.end(), [&](const Task& a, const Task& b) {
      return plan_.token_at(a.queries, 0) < plan_.token_at(b.queries, 0);
    });
    const auto last = plan_.tasks.end();
    auto kept = begin;
    for (auto task = begin; task != last; ++task) {
      if (kept != begin) {
        Task& before = *(kept - 1);
        if (!before.queries.listed && !task->queries.listed &&
            before.queries.end == task->queries.begin &&
            std::ranges::equal(plan_.segments_of(before), plan_.segments_of(*task))) {
          before.queries.end = task->queries.end;
          continue;
        }
      }
      *kept++ = *task;
    }
    plan_.tasks.erase(kept, last);
  }

  /// The rule for a subsequence with its window resolved; a window that covers all of it is whole,
  /// and so are the keys of `rows` in their own chunk.
  [[nodiscard]] Reach reach(TokenGroup from, TokenGroup to, TokenRange tokens,
                            TokenRange rows) const {
    return reach(pattern_.rule(from, to), tokens, rows);
  }
  [[nodiscard]] Reach reach(const GroupRule& rule, TokenRange tokens, TokenRange rows) const {
    if (rule.kind == GroupRule::Kind::chunks) {
      const TokenRange chunk = chunk_at(rule.chunk, tokens, rows.begin);
      return {.tokens = {std::max(chunk.begin - rule.chunk.overlap, tokens.begin),
                         std::min(chunk.end + rule.chunk.overlap, tokens.end)},
              .kind = GroupRule::Kind::whole};
    }
    if (rule.kind != GroupRule::Kind::window) return {.tokens = tokens, .kind = rule.kind};
    const Window window = rule.fixed_window ? Window::of(*rule.fixed_window) : *window_;
    if (window.is_infinite() || window.tokens() >= tokens.size() - 1) {
      return {.tokens = tokens, .kind = GroupRule::Kind::whole};
    }
    return {.tokens = tokens, .kind = GroupRule::Kind::window, .window = window.tokens()};
  }

  /// The part of the indices at `positions` that is within `tokens`.
  [[nodiscard]] TokenRange within(TokenRange positions, TokenRange tokens) const {
    const auto first = plan_.indices.begin() + positions.begin;
    const auto last = plan_.indices.begin() + positions.end;
    return {std::lower_bound(first, last, tokens.begin) - plan_.indices.begin(),
            std::lower_bound(first, last, tokens.end) - plan_.indices.begin()};
  }

  [[nodiscard]] std::int64_t index_count() const {
    return static_cast<std::int64_t>(plan_.indices.size());
  }
  [[nodiscard]] std::int64_t index(std::int64_t position) const {
    return plan_.indices[static_cast<std::size_t>(position)];
  }
  static TokenRun run_of(TokenRange range) { return {range.begin, range.end}; }
  /// Tokens plan.indices[begin ... end), as a range if they are adjacent.
  [[nodiscard]] TokenRun run_of_indices(TokenRange positions) const {
    const std::int64_t first = index(positions.begin);
    const std::int64_t last = index(positions.end - 1);
    if (last - first + 1 == positions.size()) return {first, last + 1};
    return {positions.begin, positions.end, true};
  }

  const AttentionPattern& pattern_;
  std::optional<Window> window_;
  const SequenceLayout& layout_;
  AttentionPlan plan_;
};

/// Checks the layout for a pattern that counts over an item's tokens as one sequence. `what` is the
/// part that does so: "its blocks".
Status check_without_groups(const AttentionPattern& pattern, const SequenceLayout& layout,
                            std::string_view what) {
  if (pattern.has_rules() || pattern.sentence_every || (pattern.blocks && pattern.item)) {
    return fail("pattern '{}': {} define all allowed pairs; remove them or all other rules",
                pattern.name, what);
  }
  if (layout.shares_query()) {
    return fail(
        "pattern '{}': {} need each item's tokens in one sequence, without a shared query; give "
        "every item its own query",
        pattern.name, what);
  }
  return {};
}

Status check_item(const AttentionPattern& pattern, const SequenceLayout& layout) {
  if (pattern.item->kind != GroupRule::Kind::window) {
    return fail("pattern '{}': the rule of whole items must be a window", pattern.name);
  }
  if (pattern.item->fixed_window.value_or(0) < 0) {
    return fail("pattern '{}': the window of whole items must be 0 or more, not {}", pattern.name,
                *pattern.item->fixed_window);
  }
  return check_without_groups(pattern, layout, "its windows");
}

Status check_blocks(const AttentionPattern& pattern, const SequenceLayout& layout) {
  const BlockRule& blocks = *pattern.blocks;
  if (blocks.length < 1 || blocks.length > SequenceLayout::max_tokens) {
    return fail("pattern '{}': the length of a block must be from 1 to {} tokens, not {}",
                pattern.name, SequenceLayout::max_tokens, blocks.length);
  }
  if (blocks.random < 0 || blocks.random > BlockRule::most_random) {
    return fail("pattern '{}': the number of random blocks must be from 0 to {}, not {}",
                pattern.name, BlockRule::most_random, blocks.random);
  }
  return check_without_groups(pattern, layout, "its blocks");
}

Status check_rules(const AttentionPattern& pattern, const SequenceLayout& layout) {
  for (const TokenGroup from : token_groups) {
    for (const TokenGroup to : token_groups) {
      const GroupRule& rule = pattern.rule(from, to);
      if (rule.kind == GroupRule::Kind::none) continue;
      if (needs_positions(rule) && !share_positions(from, to)) {
        return fail(
            "pattern '{}': {} -> {} cannot be {}, because these groups share no positions; make it "
            "whole or none",
            pattern.name, name_of(from), name_of(to),
            rule.kind == GroupRule::Kind::window ? "a window" : "chunks");
      }
      if (rule.chunk.tokens < 1 || rule.chunk.overlap < 0) {
        return fail(
            "pattern '{}': a chunk of {} -> {} must have 1 token or more and an overlap of 0 or "
            "more, not {} and {}",
            pattern.name, name_of(from), name_of(to), rule.chunk.tokens, rule.chunk.overlap);
      }
      if (rule.fixed_window.value_or(0) < 0) {
        return fail("pattern '{}': the window of {} -> {} must be 0 or more, not {}", pattern.name,
                    name_of(from), name_of(to), *rule.fixed_window);
      }
      if (layout.shares_query() && from == TokenGroup::query && to != TokenGroup::query) {
        return fail(
            "pattern '{}': the query of a shared-query layout is encoded once and cannot "
            "attend to {}; use a pattern with an independent query, such as 'sparse', or "
            "give every item its own query",
            pattern.name, name_of(to));
      }
    }
  }
  if (pattern.sentence_every.value_or(1) < 1) {
    return fail("pattern '{}': sentences must be at least 1 token apart, not {}", pattern.name,
                *pattern.sentence_every);
  }
  return {};
}

class BlockCompiler {
 public:
  BlockCompiler(const BlockRule& rule, const SequenceLayout& layout, std::int32_t heads)
      : rule_(rule), layout_(layout) {
    plan_.tokens = layout.tokens();
    plan_.heads = heads;
  }

  AttentionPlan compile() && {
    for (std::int64_t i = 0; i < layout_.item_count(); ++i) add_item(i);
    return std::move(plan_);
  }

 private:
  void add_item(std::int64_t i) {
    const TokenRange item = layout_.item_tokens(i);
    if (item.empty()) return;
    const HeadRange all_heads{0, plan_.heads};
    if (item.size() <= rule_.full_attention_up_to()) {
      add_task(item, all_heads, i, {item});
      return;
    }
    const std::int64_t blocks = rule_.blocks_of(item.size());
    for (std::int64_t b = 0; b < blocks; ++b) {
      const TokenRange rows = tokens_of(item, {b, b + 1});
      if (b == 0 || b == blocks - 1) {
        add_task(rows, all_heads, i, {item});
        continue;
      }
      HeadRange heads{0, 1};
      std::vector<TokenRange> keys = keys_of(item, blocks, b, 0);
      for (; heads.end < plan_.heads; ++heads.end) {
        std::vector<TokenRange> next = keys_of(item, blocks, b, heads.end);
        if (next == keys) continue;
        add_task(rows, heads, i, keys);
        heads.begin = heads.end;
        keys = std::move(next);
      }
      add_task(rows, heads, i, keys);
    }
  }

  /// The keys of a middle block in one head, with adjacent blocks as one range.
  [[nodiscard]] std::vector<TokenRange> keys_of(TokenRange item, std::int64_t blocks,
                                                std::int64_t block, std::int32_t head) const {
    std::vector<std::int64_t> seen = random_blocks(
        rule_.random, {.seed = rule_.seed, .blocks = blocks, .head = head, .block = block});
    for (std::int64_t b = block - 1; b <= block + 1; ++b) seen.push_back(b);
    seen.push_back(0);
    seen.push_back(blocks - 1);
    std::sort(seen.begin(), seen.end());
    std::vector<TokenRange> keys;
    for (const std::int64_t b : seen) {
      const TokenRange tokens = tokens_of(item, {b, b + 1});
      if (!keys.empty() && keys.back().end >= tokens.begin) {
        keys.back().end = tokens.end;
      } else {
        keys.push_back(tokens);
      }
    }
    return keys;
  }

  [[nodiscard]] TokenRange tokens_of(TokenRange item, TokenRange blocks) const {
    return {item.begin + blocks.begin * rule_.length,
            std::min(item.begin + blocks.end * rule_.length, item.end)};
  }

  void add_task(TokenRange rows, HeadRange heads, std::int64_t item,
                const std::vector<TokenRange>& keys) {
    plan_.tasks.push_back({.queries = {rows.begin, rows.end},
                           .heads = heads,
                           .item = item,
                           .first_segment = static_cast<std::int64_t>(plan_.segments.size()),
                           .segment_count = static_cast<std::int64_t>(keys.size())});
    for (const TokenRange& range : keys) {
      plan_.segments.push_back({.keys = {range.begin, range.end}});
    }
  }

  const BlockRule& rule_;
  const SequenceLayout& layout_;
  AttentionPlan plan_;
};

}  // namespace

Result<AttentionPlan> compile_plan(const AttentionPattern& pattern, std::optional<Window> window,
                                   const SequenceLayout& layout, std::int32_t heads) {
  if (heads < 1 || heads > max_heads) {
    return fail("the number of heads must be from 1 to {}, not {}", max_heads, heads);
  }
  if (pattern.has_window() && !window) {
    return fail("pattern '{}' needs a window: give a number of tokens or \"inf\"", pattern.name);
  }
  if (pattern.blocks) {
    if (Status valid = check_blocks(pattern, layout); !valid) return tl::unexpected(valid.error());
    return compile_blocks(*pattern.blocks, layout, heads);
  }
  const Status valid = pattern.item ? check_item(pattern, layout) : check_rules(pattern, layout);
  if (!valid) return tl::unexpected(valid.error());
  return PlanCompiler(pattern, window, layout, heads).compile();
}

AttentionPlan compile_blocks(const BlockRule& rule, const SequenceLayout& layout,
                             std::int32_t heads) {
  return BlockCompiler(rule, layout, heads).compile();
}

}  // namespace attnscope
