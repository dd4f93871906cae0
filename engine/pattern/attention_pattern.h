#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// AttentionPattern: which token group attends to which, and how far: a table of rules. The paper's
// sparse pattern (Schlatt et al., ECIR 2024, Fig. 1d, Eq. 1-3) as JSON:
//
//   { "name": "sparse", "title": "Sparse asymmetric",
//     "attends": { "cls":      { "cls": "whole", "query": "whole", "document": "whole" },
//                  "query":    { "query": "whole" },
//                  "document": { "cls": "whole", "query": "whole", "document": "window" } } }
//
// "window" takes the sweep's w; {"window": 4} fixes it; {"chunk": 40, "overlap": 5} is TKL's local
// attention (see ChunkRule). Pairs of groups not named are "none".
// "global": ["cls","query"] lists groups that attend to everything and are attended by everything,
// added to the table. "sentences": {"every": 30} makes every 30th document token, from the first
// of every document on, a `sentence` token when the layout names none (QDS-Transformer).
//
// Sentence starts keep their document positions, so windows between `document` and `sentence` are
// measured there. The documents of a list-wise item do not see each other: rules among `document`
// and `sentence` hold within one document, while [CLS] and query see all of them.
//
// "item": "window", or {"window": 64}, in place of all these rules takes an item's tokens as one
// sequence, whatever their groups: each sees those at most w positions away (ModernBERT's local
// layers: Warner et al., 2024, Sec. 2.1.2).
//
// "blocks": {"length": 64, "random": 3, "seed": 1} in place of all these rules is BigBird's pattern
// (Zaheer et al., NeurIPS 2020), which knows blocks of an item's tokens and no groups: see
// BlockRule.

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/pattern/window.h"
#include "kernels/base/result.h"

namespace attnscope {

enum class TokenGroup : std::uint8_t { cls, query, document, sentence };
inline constexpr std::size_t token_group_count = 4;
inline constexpr std::array<TokenGroup, token_group_count> token_groups{
    TokenGroup::cls, TokenGroup::query, TokenGroup::document, TokenGroup::sentence};
[[nodiscard]] std::string_view name_of(TokenGroup group);

/// The two groups count positions in the same subsequence, so that a window or chunks between them
/// have a meaning: a group and itself, `document` and `sentence`.
[[nodiscard]] bool share_positions(TokenGroup a, TokenGroup b);

/// Local attention in chunks (TKL: Hofstätter et al., SIGIR 2020): a subsequence is cut into chunks
/// of `tokens` from its first on, the last of which may be shorter. Every token of a chunk sees
/// that chunk and `overlap` more tokens to each side, cut off at the subsequence's ends.
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

/// A rule that measures distances, and so holds only between groups that share positions.
[[nodiscard]] constexpr bool needs_positions(const GroupRule& rule) {
  return rule.kind == GroupRule::Kind::window || rule.kind == GroupRule::Kind::chunks;
}

/// Blocks count over an item's own tokens from its first on; the last may be shorter. The first and
/// the last see every token of the item and are seen by every token. Every other sees itself, its
/// neighbour on each side, and `random` further blocks, drawn anew for each head and alike for all
/// items of as many blocks (random_blocks.h). An item too short for that is full attention.
struct BlockRule {
  static constexpr std::int64_t most_random = 256;
  std::int64_t length = 64;  // tokens
  std::int64_t random = 3;   // 0 ... most_random
  std::int64_t seed = 1;

  /// Up to so many tokens an item is full attention: BigBird's fallback, 704 tokens.
  [[nodiscard]] std::int64_t full_attention_up_to() const { return (5 + 2 * random) * length; }
  [[nodiscard]] std::int64_t blocks_of(std::int64_t tokens) const {
    return (tokens + length - 1) / length;
  }
  friend bool operator==(const BlockRule&, const BlockRule&) = default;
};

struct AttentionPattern {
  std::string name;         // as in contenders: letters, digits, '-', '_'
  std::string title;        // as in figures
  std::string description;  // one sentence, with its source
  std::array<std::array<GroupRule, token_group_count>, token_group_count> attends;  // [from][to]
  std::optional<std::int64_t> sentence_every;
  /// A window over an item's tokens as one sequence: then `attends` has no rule and there are no
  /// sentences, as of `blocks`.
  std::optional<GroupRule> item{};
  std::optional<BlockRule> blocks{};
  /// With `item`: tokens of documents see others and are seen by none; one that sees none has an
  /// output of zeros. For expanded queries alone; JSON has no such field.
  bool item_hides_documents = false;

  [[nodiscard]] const GroupRule& rule(TokenGroup from, TokenGroup to) const {
    return attends[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  }
  /// The table lets some group attend to some group.
  [[nodiscard]] bool has_rules() const;
  /// Who sees whom depends on places in the item and not on groups.
  [[nodiscard]] bool knows_no_groups() const { return blocks.has_value() || item.has_value(); }
  /// Some rule takes the sweep's w: contenders of it run once per window.
  [[nodiscard]] bool has_window() const;
  /// Some rule cuts its group into chunks.
  [[nodiscard]] bool has_chunks() const;
  /// The `sentence` group takes part; else sentence starts are ordinary document tokens.
  [[nodiscard]] bool has_sentences() const;
  friend bool operator==(const AttentionPattern&, const AttentionPattern&) = default;
};

/// Errors name `source`, the line, the field and the mend (with the nearest known name).
[[nodiscard]] Result<AttentionPattern> parse_pattern(std::string_view json,
                                                     std::string_view source);
[[nodiscard]] std::string pattern_json(const AttentionPattern& pattern);

/// The patterns that ship with the program (resources/patterns, compiled in), in display order.
[[nodiscard]] const std::vector<AttentionPattern>& built_in_patterns();

/// A built-in by name, or a JSON file by path ("my/pattern.json"). An unknown name is an error that
/// lists the known ones and the nearest.
[[nodiscard]] Result<AttentionPattern> find_pattern(std::string_view name_or_path);

}  // namespace attnscope
