// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/fingerprint.h"
#include "base/json.h"
#include "engine/text/characters.h"
#include "engine/text/piece_trie.h"
#include "engine/text/subword_model.h"

namespace attnscope {
namespace {

/// The id of a piece, or else no_piece.
std::int32_t id_of_unknown(const std::string& piece, const Vocabulary& vocabulary) {
  const std::int32_t id = vocabulary.id(piece);
  return id < 0 ? no_piece : id;
}

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

}  // namespace

std::unique_ptr<const SubwordModel> word_piece(const WordPieceRules& rules,
                                               const Vocabulary& vocabulary) {
  return std::make_unique<const WordPieceModel>(rules, vocabulary);
}

std::unique_ptr<const SubwordModel> read_word_piece(const JsonField& object,
                                                    const Vocabulary& vocabulary) {
  const WordPieceRules rules{.unknown = object["unk_token"].text(),
                             .continuing_prefix = object["continuing_subword_prefix"].text(),
                             .most_characters = object["max_input_chars_per_word"].whole(0)};
  return word_piece(rules, vocabulary);
}

std::unique_ptr<const SubwordModel> read_word_level(const JsonField& object,
                                                    const Vocabulary& vocabulary) {
  return std::make_unique<const WordLevel>(object["unk_token"].text(), vocabulary);
}

}  // namespace attnscope
