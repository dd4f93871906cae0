// SPDX-License-Identifier: Apache-2.0
#include "engine/text/vocabulary.h"

#include <utility>

#include "kernels/base/sentences.h"

namespace attnscope {
namespace {

constexpr std::string_view blanks = " \t\r\v\f";

std::string_view trimmed(std::string_view line) {
  const std::size_t last = line.find_last_not_of(blanks);
  return last == std::string_view::npos ? std::string_view{} : line.substr(0, last + 1);
}

}  // namespace

bool Vocabulary::add(std::string piece, std::int32_t id) {
  const auto at = static_cast<std::size_t>(id);
  if (at >= pieces_.size()) pieces_.resize(at + 1);
  if (!pieces_[at].empty()) return false;
  pieces_[at] = piece;
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

}  // namespace attnscope
