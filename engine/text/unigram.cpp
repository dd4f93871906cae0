// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/fingerprint.h"
#include "base/json.h"
#include "engine/text/byte_fallback.h"
#include "engine/text/characters.h"
#include "engine/text/piece_trie.h"
#include "engine/text/subword_model.h"

namespace attnscope {
namespace {

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
  const auto given = object.member("unk_id");
  const std::int32_t unknown =
      given && !given->is_null() ? given->whole<std::int32_t>(0, most) : no_piece;
  return std::make_unique<const Unigram>(PieceTrie(std::move(pieces)), std::move(scores), unknown,
                                         object.truth_or("byte_fallback", false));
}

}  // namespace attnscope
