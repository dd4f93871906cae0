#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// AttentionPattern: a table of rules for which token group attends to which, and how far. The
// paper's sparse pattern (Schlatt et al., ECIR 2024, Fig. 1d, Eq. 1-3) as JSON:
//
//   { "name": "sparse", "title": "Sparse asymmetric",
//     "attends": { "cls":      { "cls": "whole", "query": "whole", "document": "whole" },
//                  "query":    { "query": "whole" },
//                  "document": { "cls": "whole", "query": "whole", "document": "window" } } }
//
// "window" takes the sweep's w; {"window": 4} fixes it; {"chunk": 40, "overlap": 5} is TKL's local
// attention (see ChunkRule). Pairs of groups that are not named are "none".
// "global": ["cls","query"] lists groups that attend to everything and are attended by everything,
// added to the table. "sentences": {"every": 30} makes every 30th document token, from the first
// of every document on, a `sentence` token when the layout names none (QDS-Transformer).
//
// Sentence starts keep their document positions, so windows between `document` and `sentence` are
// measured in them. The documents of a list-wise item do not attend to each other: rules among
// `document` and `sentence` apply within one document, while [CLS] and query attend to all of them.
//
// "item": "window", or {"window": 64}, replaces all these rules and treats an item's tokens as one
// sequence, regardless of their groups: each attends to the tokens at most w positions away
// (ModernBERT's local layers: Warner et al., 2024, Sec. 2.1.2).
//
// "blocks": {"length": 64, "random": 3, "seed": 1} replaces all these rules with BigBird's pattern
// (Zaheer et al., NeurIPS 2020), which has blocks of an item's tokens and no groups: see BlockRule.

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/pattern/axes.h"

namespace attnscope {

class JsonField;

enum class TokenGroup : std::uint8_t { cls, query, document, sentence };
inline constexpr std::size_t token_group_count = 4;
inline constexpr std::array<TokenGroup, token_group_count> token_groups{
    TokenGroup::cls, TokenGroup::query, TokenGroup::document, TokenGroup::sentence};
[[nodiscard]] std::string_view name_of(TokenGroup group);

/// Whether the two groups count positions in the same subsequence, so that a window or chunks
/// between them are defined: a group and itself, `document` and `sentence`.
[[nodiscard]] bool share_positions(TokenGroup a, TokenGroup b);

/// Local attention in chunks (TKL: Hofstätter et al., SIGIR 2020): a subsequence is cut into chunks
/// of `tokens` from its start; the last may be shorter. Every token of a chunk attends to that
/// chunk and to `overlap` more tokens on each side, cut off at the subsequence's ends.
struct ChunkRule {
  std::int64_t tokens = 40;
  std::int64_t overlap = 5;
  /// "40+5".
  [[nodiscard]] std::string text() const {
    return std::to_string(tokens) + "+" + std::to_string(overlap);
  }
  friend bool operator==(const ChunkRule&, const ChunkRule&) = default;
};

struct GroupRule {
  enum class Kind : std::uint8_t { none, whole, window, chunks };
  Kind kind = Kind::none;
  std::optional<std::int64_t> fixed_window{};  // window rules only; absent: the sweep's w
  ChunkRule chunk{};                           // chunk rules only
  friend bool operator==(const GroupRule&, const GroupRule&) = default;
};

/// Whether the rule measures distances, and so applies only between groups that share positions.
[[nodiscard]] constexpr bool needs_positions(const GroupRule& rule) {
  return rule.kind == GroupRule::Kind::window || rule.kind == GroupRule::Kind::chunks;
}

/// BigBird's rule of blocks, counted over an item's own tokens from its start; the last block may
/// be shorter. The first and the last block attend to every token of the item, and every token
/// attends to them. Each other block attends to itself, its neighbour on each side, and `random`
/// further blocks, which are drawn for each head and are equal for all items with the same number
/// of blocks (random_blocks). An item too short for that uses full attention.
struct BlockRule {
  static constexpr std::int64_t most_random = 256;
  std::int64_t length = 64;  // tokens
  std::int64_t random = 3;   // 0 ... most_random
  std::int64_t seed = 1;

  /// Items of at most this many tokens use full attention: BigBird's fallback, 704 tokens.
  [[nodiscard]] std::int64_t full_attention_up_to() const { return (5 + 2 * random) * length; }
  [[nodiscard]] std::int64_t blocks_of(std::int64_t tokens) const {
    return (tokens + length - 1) / length;
  }
  friend bool operator==(const BlockRule&, const BlockRule&) = default;
};

/// Identifies a draw: equal fields give an equal draw, and a change in any field gives another.
struct BlockDraw {
  std::int64_t seed = 1;
  std::int64_t blocks = 0;  // of the item
  std::int32_t head = 0;
  std::int64_t block = 0;  // 1 ... blocks - 2
};

/// The random blocks of a middle block (BigBird, section 2): `count` distinct blocks, ascending,
/// from the middle blocks 1 ... blocks - 2, without the block itself and its neighbours. A pure
/// function of its arguments, with the same result on every machine. Precondition: there are enough
/// of them, which holds for every item of more than 5 + 2 count blocks.
///
///   random_blocks(3, {.seed = 1, .blocks = 16, .head = 0, .block = 7});   // {2, 9, 10}
[[nodiscard]] std::vector<std::int64_t> random_blocks(std::int64_t count, const BlockDraw& draw);

struct AttentionPattern {
  std::string name;         // in contenders: letters, digits, '-', '_'
  std::string title;        // in figures
  std::string description;  // one sentence, with its source
  std::array<std::array<GroupRule, token_group_count>, token_group_count> attends;  // [from][to]
  std::optional<std::int64_t> sentence_every;
  /// A window over an item's tokens as one sequence. `attends` then has no rule and there are no
  /// sentences, as for `blocks`.
  std::optional<GroupRule> item{};
  std::optional<BlockRule> blocks{};
  /// With `item`: tokens of documents attend to others, but no token attends to them; one that
  /// attends to none has an output of zeros. For expanded queries only; JSON has no such field.
  bool item_hides_documents = false;

  [[nodiscard]] const GroupRule& rule(TokenGroup from, TokenGroup to) const {
    return attends[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  }
  /// Whether some group attends to some group in the table.
  [[nodiscard]] bool has_rules() const;
  /// Whether attention depends on positions in the item and not on groups.
  [[nodiscard]] bool knows_no_groups() const { return blocks.has_value() || item.has_value(); }
  /// Whether some rule takes the sweep's w: contenders of the pattern run once per window.
  [[nodiscard]] bool has_window() const;
  /// Whether some rule cuts its group into chunks.
  [[nodiscard]] bool has_chunks() const;
  /// Whether the `sentence` group takes part; otherwise sentence starts are ordinary document
  /// tokens.
  [[nodiscard]] bool has_sentences() const;
  friend bool operator==(const AttentionPattern&, const AttentionPattern&) = default;
};

/// Errors name `source`, the line, the field and the correction (with the nearest known name).
[[nodiscard]] Result<AttentionPattern> parse_pattern(std::string_view json,
                                                     std::string_view source);
[[nodiscard]] std::string pattern_json(const AttentionPattern& pattern);

/// The patterns that ship with the program (resources/patterns, compiled in), in display order.
[[nodiscard]] const std::vector<AttentionPattern>& built_in_patterns();

/// A built-in by name, or a JSON file by path ("my/pattern.json"). An unknown name is an error that
/// lists the known ones and the nearest.
[[nodiscard]] Result<AttentionPattern> find_pattern(std::string_view name_or_path);

/// A pattern inside a larger file, such as a sweep with its own patterns; messages name the line of
/// that file. Throws a JsonProblem, for read_json to catch.
///
///   for (const JsonField& part : root["patterns"].elements()) all.push_back(read_pattern(part));
[[nodiscard]] AttentionPattern read_pattern(const JsonField& field);

}  // namespace attnscope
