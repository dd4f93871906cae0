// SPDX-License-Identifier: Apache-2.0
#include "engine/text/vocabulary.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "engine/text/characters.h"

namespace attnscope {

namespace {

struct ByteAlphabet {
  std::array<std::int32_t, 0x144> byte_of_character{};  // -1: represents no byte
  std::array<char32_t, 0x100> character_of_byte{};
};

const ByteAlphabet& byte_alphabet() {
  static const ByteAlphabet characters = [] {
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
  return characters;
}

std::string_view trimmed(std::string_view line) {
  while (!line.empty()) {
    std::size_t last = line.size() - 1;
    while (last > 0 && continues_character(line[last])) --last;
    std::size_t end = last;
    if (!is_white_space(next_character(line, end))) break;
    line.remove_suffix(line.size() - last);
  }
  return line;
}

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

PieceTrie::PieceTrie(std::vector<std::pair<std::string_view, std::int32_t>> pieces) {
  std::erase_if(pieces, [](const auto& piece) { return piece.first.empty(); });
  const auto text_of = [](const auto& piece) { return piece.first; };
  if (!std::ranges::is_sorted(pieces, {}, text_of)) std::ranges::stable_sort(pieces, {}, text_of);
  // Pieces with the same first `depth` bytes.
  struct Range {
    std::size_t begin, end, depth;
  };
  std::vector<Range> ranges{{0, pieces.size(), 0}};  // one per node
  bytes_.push_back(0);
  of_first_.fill(none);
  for (std::size_t node = 0; node < ranges.size(); ++node) {
    Range range = ranges[node];
    first_.push_back(static_cast<Node>(ranges.size()));
    std::int32_t value = -1;
    for (; range.begin < range.end && pieces[range.begin].first.size() == range.depth;
         ++range.begin) {
      value = pieces[range.begin].second;
    }
    values_.push_back(value);
    while (range.begin < range.end) {
      const char byte = pieces[range.begin].first[range.depth];
      std::size_t end = range.begin + 1;
      while (end < range.end && pieces[end].first[range.depth] == byte) ++end;
      if (node == root)
        of_first_[static_cast<unsigned char>(byte)] = static_cast<Node>(ranges.size());
      ranges.push_back({range.begin, end, range.depth + 1});
      bytes_.push_back(static_cast<std::uint8_t>(byte));
      range.begin = end;
    }
  }
  first_.push_back(static_cast<Node>(ranges.size()));
}

PieceTrie::Node PieceTrie::walk(std::string_view bytes, Node node) const {
  for (const char byte : bytes) {
    if (node == none) break;
    node = next(node, byte);
  }
  return node;
}

void Vocabulary::add(const std::string& piece, std::int32_t id) {
  const auto at = static_cast<std::size_t>(id);
  if (at >= pieces_.size()) pieces_.resize(at + 1);
  pieces_[at] = ids_.insert_or_assign(piece, id).first->first;
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

std::vector<std::pair<std::string_view, std::int32_t>> Vocabulary::pieces() const {
  std::vector<std::pair<std::string_view, std::int32_t>> all(ids_.begin(), ids_.end());
  std::ranges::sort(all);
  return all;
}

Result<Vocabulary> read_vocabulary(std::string_view text, std::string_view source) {
  Vocabulary vocabulary;
  std::int32_t line = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view piece = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line == Vocabulary::most_pieces) {
      return fail("{}: has more than {} lines, too many for a vocabulary", source,
                  Vocabulary::most_pieces);
    }
    if (first_byte_that_is_no_utf8(piece)) {
      return fail("{}, line {}: is not UTF-8; copy the file again", source, line + 1);
    }
    vocabulary.add(std::string(trimmed(piece)), line++);
  }
  return vocabulary;
}

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

}  // namespace attnscope
