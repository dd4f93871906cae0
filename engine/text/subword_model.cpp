// SPDX-License-Identifier: Apache-2.0
#include "engine/text/subword_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <queue>
#include <string>
#include <utility>

#include "base/fingerprint.h"
#include "base/json.h"
#include "engine/text/characters.h"
#include "engine/text/pre_tokenizer.h"

namespace attnscope {

namespace {

/// Pieces of single bytes, "<0x0A>", for text that no other piece contains.
class ByteFallback {
 public:
  explicit ByteFallback(const PieceTrie& pieces) {
    for (std::size_t byte = 0; byte < ids_.size(); ++byte)
      ids_[byte] = pieces.find(fmt::format("<0x{:02X}>", byte));
  }
  /// -1: the byte has no piece.
  [[nodiscard]] std::int32_t id(char byte) const { return ids_[static_cast<unsigned char>(byte)]; }
  /// Whether every byte has a piece.
  [[nodiscard]] bool has_all(std::string_view bytes) const {
    return std::ranges::all_of(bytes, [this](char byte) { return id(byte) >= 0; });
  }

 private:
  std::array<std::int32_t, 0x100> ids_{};
};

/// The id of a piece, or else no_piece.
std::int32_t id_of_unknown(const std::string& piece, const Vocabulary& vocabulary) {
  const std::int32_t id = vocabulary.id(piece);
  return id < 0 ? no_piece : id;
}

struct WordPieceRules {
  std::string unknown, continuing_prefix;
  std::int64_t most_characters = 0;  // of a word; longer words are unknown
};

/// Greedy longest match from the left; a word with a part that no piece covers is unknown.
class WordPieceModel final : public SubwordModel {
 public:
  WordPieceModel(WordPieceRules rules, const Vocabulary& vocabulary)
      : rules_(std::move(rules)),
        pieces_(vocabulary.pieces()),
        continuing_(pieces_.walk(rules_.continuing_prefix)),
        unknown_(id_of_unknown(rules_.unknown, vocabulary)) {}

  void append(std::string_view word, std::vector<std::int32_t>& ids) const override {
    const std::size_t before = ids.size();
    const auto characters =
        static_cast<std::int64_t>(word.size()) - std::ranges::count_if(word, continues_character);
    bool known = characters <= rules_.most_characters;
    for (std::size_t at = 0; known && at < word.size();) {
      // The longest piece that continues at this position.
      std::int32_t id = -1;
      std::size_t end = at;
      PieceTrie::Node node = at == 0 ? PieceTrie::root : continuing_;
      for (std::size_t next = at; next < word.size() && node != PieceTrie::none;) {
        node = pieces_.next(node, word[next++]);
        if (const std::int32_t value = pieces_.value(node); value >= 0) {
          id = value;
          end = next;
        }
      }
      known = id >= 0;
      ids.push_back(id);
      at = end;
    }
    if (known) return;
    ids.resize(before);
    ids.push_back(unknown_);
  }

  void add_to(RunningSum& sum) const override {
    sum.add(rules_.unknown);
    sum.add(rules_.continuing_prefix);
    sum.add(static_cast<std::uint64_t>(rules_.most_characters));
  }

 private:
  WordPieceRules rules_;
  PieceTrie pieces_;
  PieceTrie::Node continuing_;
  std::int32_t unknown_;
};

class WordLevel final : public SubwordModel {
 public:
  WordLevel(std::string unknown, const Vocabulary& vocabulary)
      : pieces_(vocabulary.pieces()),
        unknown_(std::move(unknown)),
        unknown_id_(id_of_unknown(unknown_, vocabulary)) {}

  void append(std::string_view word, std::vector<std::int32_t>& ids) const override {
    const std::int32_t id = pieces_.find(word);
    ids.push_back(id < 0 ? unknown_id_ : id);
  }

  void add_to(RunningSum& sum) const override {
    sum.add(std::string_view("words"));
    sum.add(unknown_);
  }

 private:
  PieceTrie pieces_;
  std::string unknown_;
  std::int32_t unknown_id_;
};

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
      if (merge == nullptr || merge->rank != pair.rank)
        continue;  // of symbols that were merged since
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
std::pair<std::string, std::string> read_merge(const JsonField& field) {
  if (field.is_list()) {
    const std::vector<JsonField> both = field.elements();
    if (both.size() != 2) field.must_be("two pieces");
    return {both[0].text(), both[1].text()};
  }
  const std::string text = field.text();
  const std::size_t space = text.find(' ');
  if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos)
    field.must_be("two pieces with a space between");
  return {text.substr(0, space), text.substr(space + 1)};
}

MergeTable read_merges(const JsonField& list, const Vocabulary& vocabulary, std::string_view prefix,
                       RunningSum& sum) {
  MergeTable table;
  const std::vector<JsonField> merges = list.elements();
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

class Unigram final : public SubwordModel {
 public:
  Unigram(PieceTrie pieces, std::vector<double> scores, std::int32_t unknown, bool byte_fallback)
      : pieces_(std::move(pieces)),
        scores_(std::move(scores)),
        unknown_(unknown),
        byte_fallback_(byte_fallback),
        fallback_(pieces_) {
    constexpr double penalty = 10;  // SentencePiece's
    unknown_score_ = std::ranges::min(scores_) - penalty;
  }

  /// Viterbi algorithm over the bytes of a word.
  void append(std::string_view word, std::vector<std::int32_t>& ids) const override {
    static thread_local std::vector<Best> best;
    best.assign(word.size() + 1, {});
    for (std::size_t begin = 0; begin < word.size();) {
      std::size_t after = begin;  // end of the character
      static_cast<void>(next_character(word, after));
      const double so_far = best[begin].score;
      const auto offer = [&](std::size_t end, double score, std::int32_t id) {
        Best& here = best[end];
        if (here.id < 0 || score + so_far > here.score) here = {score + so_far, begin, id};
      };
      bool alone = false;  // the character itself is a piece
      PieceTrie::Node node = PieceTrie::root;
      for (std::size_t end = begin; end < word.size();) {
        node = pieces_.next(node, word[end++]);
        if (node == PieceTrie::none) break;
        const std::int32_t id = pieces_.value(node);
        if (id < 0) continue;
        offer(end, scores_[static_cast<std::size_t>(id)], id);
        alone = alone || end == after;
      }
      if (!alone) {
        const Best& there = best[after];
        if (unknown_ == no_piece && (there.id < 0 || unknown_score_ + so_far > there.score)) {
          ids.push_back(no_piece);
          return;
        }
        offer(after, unknown_score_, unknown_);
      }
      begin = after;
    }
    append_best(word, best, ids);
  }

  void add_to(RunningSum& sum) const override {
    for (const double score : scores_) sum.add(std::bit_cast<std::uint64_t>(score));
    sum.add(static_cast<std::uint64_t>(unknown_));
    sum.add(static_cast<std::uint64_t>(byte_fallback_));
  }

 private:
  /// The last piece of the best path to a position; id -1: none.
  struct Best {
    double score = 0;
    std::size_t begin = 0;
    std::int32_t id = -1;
  };

  /// Follows the path from the end; adjacent unknown pieces are merged.
  void append_best(std::string_view word, const std::vector<Best>& best,
                   std::vector<std::int32_t>& ids) const {
    const std::size_t before = ids.size();
    for (std::size_t end = word.size(); end > 0;) {
      std::size_t begin = best[end].begin;
      const std::int32_t id = best[end].id;
      if (id != unknown_) {
        ids.push_back(id);
      } else {
        while (begin > 0 && best[begin].id == unknown_) begin = best[begin].begin;
        append_unknown(word.substr(begin, end - begin), ids);
      }
      end = begin;
    }
    std::reverse(ids.begin() + static_cast<std::ptrdiff_t>(before), ids.end());
  }

  /// Appends in reverse order, as all of the word's pieces.
  void append_unknown(std::string_view stretch, std::vector<std::int32_t>& ids) const {
    if (const std::int32_t id = pieces_.find(stretch); id >= 0) {
      ids.push_back(id);
      return;
    }
    if (!byte_fallback_ || !fallback_.has_all(stretch)) {
      ids.push_back(unknown_);
      return;
    }
    for (auto byte = stretch.rbegin(); byte != stretch.rend(); ++byte)
      ids.push_back(fallback_.id(*byte));
  }

  PieceTrie pieces_;
  std::vector<double> scores_;
  std::int32_t unknown_;
  bool byte_fallback_;
  ByteFallback fallback_;
  double unknown_score_ = 0;
};

}  // namespace

std::unique_ptr<const SubwordModel> read_word_piece(const JsonField& object,
                                                    const Vocabulary& vocabulary) {
  WordPieceRules rules{.unknown = object["unk_token"].text(),
                       .continuing_prefix = object["continuing_subword_prefix"].text(),
                       .most_characters = object["max_input_chars_per_word"].whole(0)};
  return std::make_unique<const WordPieceModel>(std::move(rules), vocabulary);
}

std::unique_ptr<const SubwordModel> read_word_level(const JsonField& object,
                                                    const Vocabulary& vocabulary) {
  return std::make_unique<const WordLevel>(object["unk_token"].text(), vocabulary);
}

std::unique_ptr<const SubwordModel> read_byte_pairs(const JsonField& object,
                                                    const Vocabulary& vocabulary,
                                                    PreTokenizer& words) {
  if (const auto dropout = object.present("dropout"); dropout && dropout->number() != 0)
    dropout->wrong("is not supported, because the tokens of a text would change each time");
  const auto truth = [&](const char* name) {
    const auto field = object.present(name);
    return field && field->truth();
  };
  const auto text = [&](const char* name) {
    const auto field = object.present(name);
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
  if (const auto unknown = object.present("unk_token")) {
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

std::unique_ptr<const SubwordModel> read_unigram(const JsonField& object,
                                                 const Vocabulary& vocabulary) {
  std::vector<double> scores;
  std::vector<std::pair<std::string_view, std::int32_t>> pieces;
  const std::vector<JsonField> list = object["vocab"].elements();
  if (list.empty()) object["vocab"].wrong("has no pieces");
  scores.reserve(list.size());
  pieces.reserve(list.size());
  for (const JsonField& piece : list) {
    pieces.emplace_back(vocabulary.piece(static_cast<std::int32_t>(pieces.size())),
                        static_cast<std::int32_t>(pieces.size()));
    scores.push_back(piece.elements().at(1).number());
  }
  const auto most = static_cast<std::int64_t>(list.size()) - 1;
  const auto unknown_id = object.present("unk_id");
  const std::int32_t unknown = unknown_id ? unknown_id->whole<std::int32_t>(0, most) : no_piece;
  return std::make_unique<const Unigram>(PieceTrie(std::move(pieces)), std::move(scores), unknown,
                                         object.truth_or("byte_fallback", false));
}

}  // namespace attnscope
