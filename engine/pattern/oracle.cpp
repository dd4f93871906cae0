// SPDX-License-Identifier: Apache-2.0
#include "engine/pattern/oracle.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "base/sentences.h"
#include "engine/pattern/attention_pattern.h"

namespace attnscope {
namespace {

enum class Verdict : std::uint8_t {
  other_item,
  other_document,
  no_rule,
  whole,
  inside_window,
  outside_window,
  near_chunk,
  far_from_chunk,
};

bool in_document(TokenGroup group) {
  return group == TokenGroup::document || group == TokenGroup::sentence;
}

/// The window that decides a pair: finite only for window rules.
std::optional<std::int64_t> finite_window(const GroupRule& rule, std::optional<Window> window) {
  if (rule.fixed_window) return rule.fixed_window;
  if (window->is_infinite()) return std::nullopt;
  return window->tokens();
}

/// The chunk that contains a position, as the range of its tokens.
TokenRange chunk_of(const ChunkRule& rule, std::int64_t position) {
  const std::int64_t begin = position / rule.tokens * rule.tokens;
  return {begin, begin + rule.tokens};
}

Verdict judge(const AttentionPattern& pattern, std::optional<Window> window,
              const Oracle::Place& query, const Oracle::Place& key) {
  // Item -1 is the shared query, which belongs to all items.
  if (query.item != key.item && query.item >= 0 && key.item >= 0) return Verdict::other_item;
  if (in_document(query.group) && in_document(key.group) && query.document != key.document) {
    return Verdict::other_document;
  }
  const GroupRule& rule = pattern.rule(query.group, key.group);
  if (rule.kind == GroupRule::Kind::none) return Verdict::no_rule;
  if (rule.kind == GroupRule::Kind::whole) return Verdict::whole;
  if (rule.kind == GroupRule::Kind::chunks) {
    const TokenRange chunk = chunk_of(rule.chunk, query.position);
    const bool near = key.position >= chunk.begin - rule.chunk.overlap &&
                      key.position < chunk.end + rule.chunk.overlap;
    return near ? Verdict::near_chunk : Verdict::far_from_chunk;
  }
  const auto w = finite_window(rule, window);
  const bool near = !w || std::abs(query.position - key.position) <= *w;
  return near ? Verdict::inside_window : Verdict::outside_window;
}

std::string words_for(const Oracle::Place& place, const SequenceLayout& layout) {
  std::string token = fmt::format("{} {}", name_of(place.group), place.position);
  if (place.document < 0 || layout.document_count(place.item) < 2) return token;
  return fmt::format("{} of document #{}", token, place.document);
}

}  // namespace

Oracle::Oracle(const AttentionPattern& pattern, std::optional<Window> window,
               const SequenceLayout& layout)
    : pattern_(pattern), window_(window), layout_(layout) {
  if (pattern.has_window() && !window) {
    throw std::invalid_argument("pattern '" + pattern.name + "' needs a window");
  }
}

Oracle::Place Oracle::place_of(std::int64_t token) const {
  if (token < layout_.shared_query()) {
    return {.item = -1, .group = TokenGroup::query, .document = -1, .position = token};
  }
  // The last item that begins at or before the token; items without tokens begin with the next one.
  std::int64_t item = 0;
  for (std::int64_t end = layout_.item_count(); end - item > 1;) {
    const std::int64_t middle = item + (end - item) / 2;
    (layout_.item_tokens(middle).begin <= token ? item : end) = middle;
  }
  if (token < layout_.cls(item).end) {
    return {.item = item,
            .group = TokenGroup::cls,
            .document = -1,
            .position = token - layout_.cls(item).begin};
  }
  if (token < layout_.documents(item).begin) {
    return {.item = item,
            .group = TokenGroup::query,
            .document = -1,
            .position = token - layout_.query(item).begin};
  }
  std::int64_t document = 0;
  while (token >= layout_.document(item, document).end) ++document;
  const std::int64_t position = token - layout_.document(item, document).begin;
  bool starts_sentence = false;
  const LayoutItem& sizes = layout_.item(item);
  if (pattern_.has_sentences() && sizes.sentences_given) {
    starts_sentence = std::binary_search(sizes.sentences.begin(), sizes.sentences.end(),
                                         token - layout_.documents(item).begin);
  } else if (pattern_.has_sentences() && pattern_.sentence_every) {
    starts_sentence = position % *pattern_.sentence_every == 0;
  }
  return {.item = item,
          .group = starts_sentence ? TokenGroup::sentence : TokenGroup::document,
          .document = document,
          .position = position};
}

enum class Oracle::BlockVerdict : std::uint8_t {
  other_item,
  unseen,
  short_item,
  outer_query,  // the first or the last block attends to every token
  outer_key,    // every token attends to it
  near,         // itself or a neighbour
  random,
};

bool Oracle::allowed(std::int32_t head, std::int64_t query, std::int64_t key) const {
  if (pattern_.blocks) {
    const BlockVerdict verdict = judge_blocks(head, query, key);
    return verdict != BlockVerdict::other_item && verdict != BlockVerdict::unseen;
  }
  if (pattern_.item) {
    const auto w = finite_window(*pattern_.item, window_);
    if (pattern_.item_hides_documents && place_of(key).group == TokenGroup::document) return false;
    return place_of(query).item == place_of(key).item && (!w || std::abs(query - key) <= *w);
  }
  const Verdict verdict = judge(pattern_, window_, place_of(query), place_of(key));
  return verdict == Verdict::whole || verdict == Verdict::inside_window ||
         verdict == Verdict::near_chunk;
}

std::int64_t Oracle::block_of(std::int64_t token, std::int64_t item) const {
  return (token - layout_.item_tokens(item).begin) / pattern_.blocks->length;
}

Oracle::BlockVerdict Oracle::judge_blocks(std::int32_t head, std::int64_t query,
                                          std::int64_t key) const {
  const std::int64_t item = place_of(query).item;
  const TokenRange tokens = layout_.item_tokens(item);
  if (key < tokens.begin || key >= tokens.end) return BlockVerdict::other_item;
  const BlockRule& rule = *pattern_.blocks;
  if (tokens.size() <= rule.full_attention_up_to()) return BlockVerdict::short_item;
  const std::int64_t from = block_of(query, item);
  const std::int64_t to = block_of(key, item);
  const std::int64_t last = block_of(tokens.end - 1, item);
  if (from == 0 || from == last) return BlockVerdict::outer_query;
  if (to == 0 || to == last) return BlockVerdict::outer_key;
  if (std::abs(from - to) <= 1) return BlockVerdict::near;
  const std::vector<std::int64_t> drawn = random_blocks(
      rule.random, {.seed = rule.seed, .blocks = last + 1, .head = head, .block = from});
  return std::ranges::find(drawn, to) == drawn.end() ? BlockVerdict::unseen : BlockVerdict::random;
}

std::string Oracle::explain_blocks(std::int32_t head, std::int64_t query, std::int64_t key) const {
  const Place from = place_of(query);
  const Place to = place_of(key);
  const BlockVerdict verdict = judge_blocks(head, query, key);
  const bool sees = verdict != BlockVerdict::other_item && verdict != BlockVerdict::unseen;
  const std::string pair =
      fmt::format("{} {} {}", words_for(from, layout_), sees ? "attends to" : "does not attend to",
                  words_for(to, layout_));
  const auto block = [&](std::int64_t token, const Place& place) {
    return block_of(token, place.item);
  };
  switch (verdict) {
    case BlockVerdict::other_item:
      return fmt::format("{}: they belong to items {} and {}", pair, from.item, to.item);
    case BlockVerdict::short_item:
      return fmt::format("{}: an item of at most {} tokens is full attention", pair,
                         pattern_.blocks->full_attention_up_to());
    case BlockVerdict::outer_query:
      return fmt::format("{}: block {}, an outer one, attends to all tokens", pair,
                         block(query, from));
    case BlockVerdict::outer_key:
      return fmt::format("{}: block {}, an outer one, is attended to by all tokens", pair,
                         block(key, to));
    case BlockVerdict::near:
      return fmt::format("{}: block {} attends to itself and its neighbours, including {}", pair,
                         block(query, from), block(key, to));
    case BlockVerdict::random:
      return fmt::format("{}: block {} is a random block of block {} in head {}", pair,
                         block(key, to), block(query, from), head);
    case BlockVerdict::unseen:
      return fmt::format(
          "{}: block {} is neither a neighbour nor a random block of block {} in head {}", pair,
          block(key, to), block(query, from), head);
  }
  return {};
}

/// Explains a pair for a window over the item's tokens as one sequence.
std::string Oracle::explain_item(std::int64_t query, std::int64_t key) const {
  const Place from = place_of(query), to = place_of(key);
  const bool sees = allowed(0, query, key);
  const std::string pair =
      fmt::format("{} {} {}", words_for(from, layout_), sees ? "attends to" : "does not attend to",
                  words_for(to, layout_));
  if (from.item != to.item) {
    return fmt::format("{}: they belong to items {} and {}", pair, from.item, to.item);
  }
  const auto w = finite_window(*pattern_.item, window_);
  if (!w) return fmt::format("{}: the window is infinite", pair);
  const std::int64_t first = layout_.item_tokens(from.item).begin;
  return fmt::format("{}: window over the item's tokens, |{}-{}| {} {}", pair, query - first,
                     key - first, sees ? "<=" : ">", *w);
}

std::string Oracle::explain(std::int64_t query, std::int64_t key, std::int32_t head) const {
  if (pattern_.blocks) return explain_blocks(head, query, key);
  if (pattern_.item) return explain_item(query, key);
  const Place from = place_of(query);
  const Place to = place_of(key);
  const std::string a = words_for(from, layout_);
  const std::string b = words_for(to, layout_);
  const auto w = [&] { return finite_window(pattern_.rule(from.group, to.group), window_); };
  const auto chunk = [&] {
    const ChunkRule& rule = pattern_.rule(from.group, to.group).chunk;
    const TokenRange own = chunk_of(rule, from.position);
    return fmt::format("its chunk, {} to {}, attends to itself and {} more to each side", own.begin,
                       own.end - 1, counted(static_cast<std::size_t>(rule.overlap), "token"));
  };
  switch (judge(pattern_, window_, from, to)) {
    case Verdict::other_item:
      return fmt::format("{} does not attend to {}: they belong to items {} and {}", a, b,
                         from.item, to.item);
    case Verdict::other_document:
      return fmt::format(
          "{} does not attend to {}: documents of one item do not attend to each other", a, b);
    case Verdict::no_rule:
      return fmt::format("{} does not attend to {}: {} tokens do not attend to {} tokens", a, b,
                         name_of(from.group), name_of(to.group));
    case Verdict::whole:
      return fmt::format("{} attends to {}: {} tokens attend to all {} tokens", a, b,
                         name_of(from.group), name_of(to.group));
    case Verdict::inside_window:
      if (!w()) return fmt::format("{} attends to {}: the window is infinite", a, b);
      return fmt::format("{} attends to {}: window, |{}-{}| <= {}", a, b, from.position,
                         to.position, *w());
    case Verdict::outside_window:
      return fmt::format("{} does not attend to {}: window, |{}-{}| > {}", a, b, from.position,
                         to.position, *w());
    case Verdict::near_chunk:
      return fmt::format("{} attends to {}: {}", a, b, chunk());
    case Verdict::far_from_chunk:
      return fmt::format("{} does not attend to {}: {}", a, b, chunk());
  }
  return {};
}

}  // namespace attnscope
