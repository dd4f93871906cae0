// SPDX-License-Identifier: Apache-2.0
#include "engine/text/vocabulary.h"

#include <algorithm>
#include <array>

#include "kernels/base/sentences.h"

namespace attnscope {
namespace {

constexpr std::string_view blanks = " \t\r\v\f";

std::string_view trimmed(std::string_view line) {
  const std::size_t last = line.find_last_not_of(blanks);
  return last == std::string_view::npos ? std::string_view{} : line.substr(0, last + 1);
}

bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

std::int64_t characters(std::string_view utf8) {
  std::int64_t count = 0;
  for (const char byte : utf8) count += continues_character(byte) ? 0 : 1;
  return count;
}

void drop_last_character(std::string& text) {
  while (!text.empty() && continues_character(text.back())) text.pop_back();
  if (!text.empty()) text.pop_back();
}

/// Shortens `candidate` from its end until it is a piece with a character behind the prefix; -1
/// when there is none.
std::int32_t longest_piece(std::string& candidate, std::size_t prefix,
                           const Vocabulary& vocabulary) {
  std::int32_t id = vocabulary.id(candidate);
  while (id < 0) {
    drop_last_character(candidate);
    if (candidate.size() <= prefix) return -1;
    id = vocabulary.id(candidate);
  }
  return id;
}

}  // namespace

bool Vocabulary::add(std::string piece, std::int32_t id) {
  const auto at = static_cast<std::size_t>(id);
  if (at >= pieces_.size()) pieces_.resize(at + 1);
  if (!pieces_[at].empty()) return false;
  pieces_[at] = piece;
  longest_piece_ = std::max(longest_piece_, piece.size());
  return piece.empty() || ids_.emplace(std::move(piece), id).second;
}

std::int32_t Vocabulary::id(std::string_view piece) const {
  const auto found = ids_.find(piece);
  return found == ids_.end() ? -1 : found->second;
}

std::string_view Vocabulary::piece(std::int32_t id) const {
  if (id < 0 || id >= size()) return {};
  return pieces_[static_cast<std::size_t>(id)];
}

std::int64_t Vocabulary::size() const {
  return static_cast<std::int64_t>(pieces_.size());
}

Result<Vocabulary> read_vocabulary(std::string_view text, std::string_view source) {
  Vocabulary vocabulary;
  std::int32_t line = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view piece = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line == Vocabulary::most_pieces) {
      return fail("{}: more than {} lines, so no vocabulary of a cross-encoder", source,
                  Vocabulary::most_pieces);
    }
    if (!vocabulary.add(std::string(piece), line++)) {
      return fail("{}, line {}: the piece '{}' is given twice, first in line {}", source, line,
                  in_a_sentence(piece), vocabulary.id(piece) + 1);
    }
  }
  return vocabulary;
}

std::vector<TokenizerModel::AddedToken> special_tokens(const Vocabulary& vocabulary) {
  constexpr std::array<std::string_view, 5> names{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  std::vector<TokenizerModel::AddedToken> tokens;
  tokens.reserve(names.size());
  for (const std::string_view name : names) {
    if (const std::int32_t id = vocabulary.id(name); id >= 0) {
      tokens.push_back({std::string(name), id});
    }
  }
  return tokens;
}

void append_pieces(std::string_view word, const TokenizerModel& model, std::int32_t unknown,
                   std::vector<std::int32_t>& ids) {
  const std::size_t before = ids.size();
  if (characters(word) > model.most_characters) {
    ids.push_back(unknown);
    return;
  }
  std::string candidate;
  for (std::size_t begin = 0; begin < word.size();) {
    candidate = begin == 0 ? "" : model.continuing_prefix;
    const std::size_t prefix = candidate.size();
    // Longer than any piece is not worth looking up.
    candidate += word.substr(begin, model.vocabulary.longest_piece());
    const std::int32_t id = longest_piece(candidate, prefix, model.vocabulary);
    if (id < 0) {
      ids.resize(before);
      ids.push_back(unknown);
      return;
    }
    ids.push_back(id);
    begin += candidate.size() - prefix;
  }
}

}  // namespace attnscope
