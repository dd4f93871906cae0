// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/text/characters.h"
#include "engine/text/piece_trie.h"
#include "engine/text/subword_model.h"
#include "kernels/base/json.h"
#include "kernels/base/running_sum.h"

namespace attnscope {
namespace {

PieceTrie trie_of(const Vocabulary& vocabulary) {
  std::vector<std::pair<std::string_view, std::int32_t>> pieces;
  pieces.reserve(static_cast<std::size_t>(vocabulary.size()));
  for (std::int32_t id = 0; id < vocabulary.size(); ++id)
    pieces.emplace_back(vocabulary.piece(id), id);
  return PieceTrie(std::move(pieces));
}

class WordPieceModel final : public SubwordModel {
 public:
  WordPieceModel(WordPieceRules rules, const Vocabulary& vocabulary)
      : rules_(std::move(rules)),
        pieces_(trie_of(vocabulary)),
        continuing_(pieces_.walk(rules_.continuing_prefix)),
        unknown_(vocabulary.id(rules_.unknown)) {}

  void append(std::string_view word, std::vector<std::int32_t>& ids) const override {
    const std::size_t before = ids.size();
    const auto characters =
        static_cast<std::int64_t>(word.size()) - std::ranges::count_if(word, continues_character);
    bool known = characters <= rules_.most_characters;
    for (std::size_t at = 0; known && at < word.size();) {
      // The longest piece that goes on here.
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

}  // namespace

std::unique_ptr<const SubwordModel> word_piece(const WordPieceRules& rules,
                                               const Vocabulary& vocabulary) {
  return std::make_unique<const WordPieceModel>(rules, vocabulary);
}

std::unique_ptr<const SubwordModel> read_word_piece(const JsonField& said,
                                                    const Vocabulary& vocabulary) {
  WordPieceRules rules;
  rules.unknown = said.text_or("unk_token", rules.unknown);
  rules.continuing_prefix = said.text_or("continuing_subword_prefix", rules.continuing_prefix);
  if (const auto most = said.member("max_input_chars_per_word"))
    rules.most_characters = most->whole(0);
  if (vocabulary.id(rules.unknown) < 0) {
    said["vocab"].wrong(
        fmt::format("has no '{}' among its {} pieces", rules.unknown, vocabulary.size()));
  }
  return word_piece(rules, vocabulary);
}

}  // namespace attnscope
