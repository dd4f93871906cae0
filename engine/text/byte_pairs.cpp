// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstddef>
#include <functional>
#include <optional>
#include <queue>
#include <utility>

#include "base/fingerprint.h"
#include "base/json.h"
#include "engine/text/byte_fallback.h"
#include "engine/text/characters.h"
#include "engine/text/piece_trie.h"
#include "engine/text/pre_tokenizer.h"
#include "engine/text/subword_model.h"

namespace attnscope {
namespace {

struct Merge {
  std::int32_t rank = 0, id = 0;  // rank: lower is first; id: the merged piece
};

/// Maps pairs of ids to their merges: open addressing, load factor at most one half.
class MergeTable {
 public:
  void reserve(std::size_t merges) { slots_.resize(std::bit_ceil(2 * merges + 2)); }
  /// If a pair occurs twice, the later merge is used.
  void add(std::int32_t left, std::int32_t right, Merge merge) {
    slots_[place(key(left, right))] = {key(left, right), merge};
  }
  [[nodiscard]] const Merge* find(std::int32_t left, std::int32_t right) const {
    const Slot& slot = slots_[place(key(left, right))];
    return slot.key == free ? nullptr : &slot.merge;
  }

 private:
  static constexpr std::uint64_t free = ~std::uint64_t{0};  // no pair: ids are not negative
  struct Slot {
    std::uint64_t key = free;
    Merge merge;
  };
  static std::uint64_t key(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32U |
           static_cast<std::uint32_t>(right);
  }
  [[nodiscard]] std::size_t place(std::uint64_t key) const {
    constexpr std::uint64_t odd = 0x9E3779B97F4A7C15;
    constexpr unsigned high = 32;
    std::size_t at = (key * odd) >> high & (slots_.size() - 1);
    while (slots_[at].key != key && slots_[at].key != free) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  std::vector<Slot> slots_ = std::vector<Slot>(2);
};

struct ByteAlphabet {
  std::array<std::int32_t, 0x144> byte_of_character{};  // -1: represents no byte
  std::array<char32_t, 0x100> character_of_byte{};
};

const ByteAlphabet& byte_alphabet() {
  static const ByteAlphabet alphabet = [] {
    ByteAlphabet made;
    made.byte_of_character.fill(-1);
    std::size_t next = 0x100;
    for (std::int32_t byte = 0; byte < 0x100; ++byte) {
      const bool seen = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
      const std::size_t character = seen ? static_cast<std::size_t>(byte) : next++;
      made.byte_of_character[character] = byte;
      made.character_of_byte[static_cast<std::size_t>(byte)] = static_cast<char32_t>(character);
    }
    return made;
  }();
  return alphabet;
}

struct BytePairRules {
  std::optional<std::int32_t> unknown;  // nothing: omits text that no piece covers
  bool fuse_unknown = false, byte_fallback = false, ignore_merges = false;
  std::string prefix, suffix;  // of every character but the first; of the last
};

class BytePairs final : public SubwordModel {
 public:
  BytePairs(const BytePairRules& rules, PieceTrie pieces, bool of_bytes, MergeTable merges,
            std::uint64_t fingerprint)
      : rules_(rules),
        has_marks_(!rules.prefix.empty() || !rules.suffix.empty()),
        pieces_(std::move(pieces)),
        of_bytes_(of_bytes),
        merges_(std::move(merges)),
        fingerprint_(fingerprint),
        fallback_(pieces_) {}

  void append(std::string_view word, std::vector<std::int32_t>& ids) const override {
    if (rules_.ignore_merges) {
      if (const std::int32_t id = pieces_.find(word); id >= 0) {
        ids.push_back(id);
        return;
      }
    }
    static thread_local std::vector<std::int32_t> symbols;
    symbols.clear();
    append_symbols(word, symbols);
    constexpr std::size_t few = 24;  // up to this size, linear search for each merge is faster
    if (symbols.size() <= few) {
      merge_few(symbols);
    } else {
      merge_many(symbols);
    }
    ids.insert(ids.end(), symbols.begin(), symbols.end());
  }

  void add_to(RunningSum& sum) const override { sum.add(fingerprint_); }

 private:
  /// The pieces of single characters or bytes. An unknown piece is appended only before the next
  /// known one, after the bytes of a character with byte fallback: as in Hugging Face's code.
  void append_symbols(std::string_view word, std::vector<std::int32_t>& symbols) const {
    bool unknown_waits = false;
    const auto push_unknown = [&] {
      if (unknown_waits) symbols.push_back(*rules_.unknown);
      unknown_waits = false;
    };
    for (std::size_t at = 0; at < word.size();) {
      const std::size_t begin = at;
      if (of_bytes_) {
        ++at;
      } else {
        static_cast<void>(next_character(word, at));
      }
      std::string_view unit = word.substr(begin, at - begin);
      std::string with_marks;
      if (has_marks_) {
        if (begin > 0) with_marks = rules_.prefix;
        with_marks += unit;
        if (at == word.size()) with_marks += rules_.suffix;
        unit = with_marks;
      }
      if (const std::int32_t id = pieces_.find(unit); id >= 0) {
        push_unknown();
        symbols.push_back(id);
      } else if (rules_.byte_fallback && fallback_.has_all(unit)) {
        for (const char byte : unit) symbols.push_back(fallback_.id(byte));
      } else if (rules_.unknown) {
        if (!rules_.fuse_unknown) push_unknown();
        unknown_waits = true;
      }
    }
    push_unknown();
  }

  void merge_few(std::vector<std::int32_t>& symbols) const {
    while (symbols.size() > 1) {
      const Merge* best = nullptr;
      std::size_t at = 0;
      for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
        const Merge* merge = merges_.find(symbols[i], symbols[i + 1]);
        if (merge == nullptr || (best != nullptr && merge->rank >= best->rank)) continue;
        best = merge;
        at = i;
      }
      if (best == nullptr) return;
      symbols[at] = best->id;
      symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
  }

  /// The same with a priority queue of pairs: O(n log n).
  void merge_many(std::vector<std::int32_t>& symbols) const {
    struct Pair {
      std::int32_t rank;
      std::size_t left;
      std::int32_t id;
      bool operator>(const Pair& other) const {
        return rank != other.rank ? rank > other.rank : left > other.left;
      }
    };
    constexpr std::int32_t gone = -1;
    const std::size_t end = symbols.size();
    std::vector<std::size_t> next(end), before(end);
    for (std::size_t i = 0; i < end; ++i) {
      next[i] = i + 1;
      before[i] = i - 1;  // of the first: none, past the end
    }
    std::priority_queue<Pair, std::vector<Pair>, std::greater<>> pairs;
    const auto push = [&](std::size_t left) {
      if (left >= end || next[left] >= end) return;
      if (const Merge* merge = merges_.find(symbols[left], symbols[next[left]]))
        pairs.push({merge->rank, left, merge->id});
    };
    for (std::size_t i = 0; i < end; ++i) push(i);
    while (!pairs.empty()) {
      const Pair pair = pairs.top();
      pairs.pop();
      if (symbols[pair.left] == gone || next[pair.left] >= end) continue;
      const std::size_t right = next[pair.left];
      const Merge* merge = merges_.find(symbols[pair.left], symbols[right]);
      if (merge == nullptr || merge->rank != pair.rank) continue;  // of symbols that are no more
      symbols[pair.left] = pair.id;
      symbols[right] = gone;
      next[pair.left] = next[right];
      if (next[right] < end) before[next[right]] = pair.left;
      push(before[pair.left]);
      push(pair.left);
    }
    std::erase(symbols, gone);
  }

  BytePairRules rules_;
  bool has_marks_;
  PieceTrie pieces_;
  bool of_bytes_;
  MergeTable merges_;
  std::uint64_t fingerprint_;
  ByteFallback fallback_;
};

/// "a b", or ["a", "b"], which is required for pieces with spaces.
std::pair<std::string, std::string> read_merge(const JsonField& object) {
  if (object.is_list()) {
    const std::vector<JsonField> both = object.elements();
    if (both.size() != 2) object.must_be("two pieces");
    return {both[0].text(), both[1].text()};
  }
  const std::string text = object.text();
  const std::size_t space = text.find(' ');
  if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos)
    object.must_be("two pieces with a space between");
  return {text.substr(0, space), text.substr(space + 1)};
}

MergeTable read_merges(const JsonField& object, const Vocabulary& vocabulary,
                       std::string_view prefix, RunningSum& sum) {
  MergeTable table;
  const std::vector<JsonField> merges = object.elements();
  table.reserve(merges.size());
  std::int32_t rank = 0;
  for (const JsonField& field : merges) {
    if (field.is_text() && field.text().starts_with("#version")) continue;
    const auto [left, right] = read_merge(field);
    const auto id_of = [&](const std::string& piece) {
      const std::int32_t id = vocabulary.id(piece);
      if (id < 0) field.wrong(fmt::format("needs the piece '{}', which has no id", piece));
      return id;
    };
    const std::int32_t left_id = id_of(left), right_id = id_of(right);
    if (right.size() < prefix.size()) field.wrong("has a second piece without the prefix");
    table.add(left_id, right_id, {rank++, id_of(left + right.substr(prefix.size()))});
    sum.add(static_cast<std::uint64_t>(left_id));
    sum.add(static_cast<std::uint64_t>(right_id));
  }
  return table;
}

PieceTrie pieces_of(const Vocabulary& vocabulary, bool of_bytes) {
  std::vector<std::string> bytes;
  std::vector<std::pair<std::string_view, std::int32_t>> pieces;
  if (!of_bytes) return PieceTrie(vocabulary.pieces());
  const auto spelled = vocabulary.pieces();
  bytes.reserve(spelled.size());
  pieces.reserve(spelled.size());
  for (const auto& [piece, id] : spelled)
    pieces.emplace_back(bytes.emplace_back(bytes_of_piece(piece)), id);
  return PieceTrie(std::move(pieces));
}

}  // namespace

std::string spelled_bytes(std::string_view bytes) {
  std::string spelled;
  spelled.reserve(2 * bytes.size());
  for (const char byte : bytes) {
    append_character(spelled, byte_alphabet().character_of_byte[static_cast<unsigned char>(byte)]);
  }
  return spelled;
}

std::string bytes_of_piece(std::string_view piece) {
  const auto& byte_of = byte_alphabet().byte_of_character;
  std::string bytes;
  for (std::size_t at = 0; at < piece.size();) {
    const char32_t c = next_character(piece, at);
    if (c >= byte_of.size() || byte_of[c] < 0) return {};
    bytes += static_cast<char>(byte_of[c]);
  }
  return bytes;
}

std::unique_ptr<const SubwordModel> read_byte_pairs(const JsonField& object,
                                                    const Vocabulary& vocabulary,
                                                    PreTokenizer& words) {
  const auto given = [&](const char* name) {
    const auto field = object.member(name);
    return field && !field->is_null() ? field : std::nullopt;
  };
  if (const auto dropout = given("dropout"); dropout && dropout->number() != 0)
    dropout->wrong("would draw other tokens each time, and is not read here");
  const auto truth = [&](const char* name) {
    const auto field = given(name);
    return field && field->truth();
  };
  const auto text = [&](const char* name) {
    const auto field = given(name);
    return field ? field->text() : "";
  };
  BytePairRules rules{.unknown = {},
                      .fuse_unknown = truth("fuse_unk"),
                      .byte_fallback = truth("byte_fallback"),
                      .ignore_merges = truth("ignore_merges"),
                      .prefix = text("continuing_subword_prefix"),
                      .suffix = text("end_of_word_suffix")};
  if (rules.byte_fallback || !rules.prefix.empty() || !rules.suffix.empty()) words.spell_bytes();
  const bool of_bytes = words.gives_bytes();
  if (const auto unknown = given("unk_token")) {
    const std::int32_t id = vocabulary.id(unknown->text());
    rules.unknown = id < 0 ? no_piece : id;
  }
  RunningSum sum;
  for (const std::int64_t rule :
       {std::int64_t{rules.unknown.value_or(-1)}, std::int64_t{rules.fuse_unknown},
        std::int64_t{rules.byte_fallback}, std::int64_t{rules.ignore_merges}}) {
    sum.add(static_cast<std::uint64_t>(rule));
  }
  for (const std::string& mark : {rules.prefix, rules.suffix})
    if (!mark.empty()) sum.add(std::string_view(mark));
  MergeTable merges = read_merges(object["merges"], vocabulary, rules.prefix, sum);
  return std::make_unique<const BytePairs>(rules, pieces_of(vocabulary, of_bytes), of_bytes,
                                           std::move(merges), sum.value());
}

}  // namespace attnscope
