// SPDX-License-Identifier: Apache-2.0
#include "engine/text/added_tokens.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "engine/text/characters.h"

namespace attnscope {
namespace {

/// The character before a position.
char32_t character_before(std::string_view utf8, std::size_t& at) {
  do --at;
  while (at > 0 && continues_character(utf8[at]));
  std::size_t after = at;
  return next_character(utf8, after);
}

bool stands_in_word(std::string_view utf8, std::size_t begin, std::size_t end) {
  if (begin > 0 && is_word_character(character_before(utf8, begin))) return true;
  return end < utf8.size() && is_word_character(next_character(utf8, end));
}

std::size_t begin_of_space(std::string_view utf8, std::size_t at) {
  for (std::size_t before = at; before > 0; at = before)
    if (!is_white_space(character_before(utf8, before))) break;
  return at;
}

std::size_t end_of_space(std::string_view utf8, std::size_t at) {
  for (std::size_t after = at; after < utf8.size(); at = after)
    if (!is_white_space(next_character(utf8, after))) break;
  return at;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::vector<std::pair<std::string_view, std::int32_t>> texts;
  texts.reserve(tokens_.size());
  for (std::size_t i = 0; i < tokens_.size(); ++i)
    texts.emplace_back(tokens_[i].found_by, static_cast<std::int32_t>(i));
  trie_ = PieceTrie(std::move(texts));
}

AddedTokens::Match AddedTokens::match_at(std::string_view utf8, std::size_t at) const {
  Match longest{nullptr, at};
  for (auto node = trie_.next(PieceTrie::root, utf8[at]); node != PieceTrie::none;
       node = trie_.next(node, utf8[at])) {
    ++at;
    if (const std::int32_t place = trie_.value(node); place >= 0)
      longest = {&tokens_[static_cast<std::size_t>(place)], at};
    if (at == utf8.size()) break;
  }
  return longest;
}

std::vector<AddedTokens::Part> AddedTokens::cut(std::string_view utf8) const {
  std::vector<Part> parts;
  std::size_t done = 0;  // end of the text processed so far
  for (std::size_t at = 0; at < utf8.size() && !tokens_.empty();) {
    const Match match = match_at(utf8, at);
    if (match.token == nullptr) {
      ++at;
      continue;
    }
    std::size_t begin = at, end = match.end;
    at = end;
    if (match.token->single_word && stands_in_word(utf8, begin, end)) continue;
    if (match.token->lstrip) begin = std::max(begin_of_space(utf8, begin), done);
    if (match.token->rstrip) end = end_of_space(utf8, end);
    if (done < begin) parts.push_back({utf8.substr(done, begin - done)});
    parts.push_back({utf8.substr(begin, end - begin), match.token->id});
    done = end;
  }
  if (done < utf8.size()) parts.push_back({utf8.substr(done)});
  return parts;
}

}  // namespace attnscope
