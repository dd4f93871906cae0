// SPDX-License-Identifier: Apache-2.0
#include "engine/text/vocabulary.h"

#include <algorithm>
#include <cstddef>

#include "engine/text/characters.h"

namespace attnscope {
namespace {

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

}  // namespace

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
      return fail("{}: more than {} lines, so no vocabulary of a cross-encoder", source,
                  Vocabulary::most_pieces);
    }
    if (first_byte_that_is_no_utf8(piece)) {
      return fail("{}, line {}: is not UTF-8; copy the file again", source, line + 1);
    }
    vocabulary.add(std::string(trimmed(piece)), line++);
  }
  return vocabulary;
}

}  // namespace attnscope
