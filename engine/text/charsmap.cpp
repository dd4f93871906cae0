// SPDX-License-Identifier: Apache-2.0
#include "engine/text/charsmap.h"

#include <unicode/brkiter.h>
#include <unicode/locid.h>
#include <unicode/utext.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "engine/text/characters.h"

namespace attnscope {
namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::optional<std::string> from_base64(std::string_view text) {
  constexpr std::size_t group = 4;
  if (text.size() % group != 0) return std::nullopt;
  std::size_t padding = 0;
  for (; !text.empty() && text.back() == '=' && padding < 2; ++padding) text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size());
  std::uint32_t bits = 0;
  int waiting = 0;
  for (const char c : text) {
    const std::size_t value = alphabet.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = (bits << 6U | static_cast<std::uint32_t>(value)) & 0xFFFFU;
    waiting += 6;
    if (waiting < 8) continue;
    waiting -= 8;
    bytes += static_cast<char>(bits >> static_cast<unsigned>(waiting));
  }
  return bytes;
}

// Fields of a unit of the trie: its byte, the offset of its children, whether a value ends here.
std::uint32_t label(std::uint32_t unit) {
  return unit & 0x800000FFU;
}
std::uint32_t offset(std::uint32_t unit) {
  return (unit >> 10U) << ((unit & 0x200U) >> 6U);
}
bool has_value(std::uint32_t unit) {
  return (unit >> 8U & 1U) != 0;
}
std::uint32_t value_of(std::uint32_t unit) {
  return unit & 0x7FFFFFFFU;
}

/// One iterator per thread, because creating one costs more than processing a text.
icu::BreakIterator& graphemes() {
  static thread_local const std::unique_ptr<icu::BreakIterator> made = [] {
    UErrorCode failed = U_ZERO_ERROR;
    std::unique_ptr<icu::BreakIterator> iterator(
        icu::BreakIterator::createCharacterInstance(icu::Locale::getRoot(), failed));
    if (U_FAILURE(failed) != 0) throw std::runtime_error(u_errorName(failed));
    return iterator;
  }();
  return *made;
}

/// The end of the range from `begin` that is searched for graphemes: at an ASCII character that is
/// followed by another, since two of them never form one grapheme, except CR LF.
std::size_t end_of_stretch(std::string_view text, std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < text.size() &&
         (!is_ascii(text.substr(end - 1, 2)) || text.substr(end - 1, 2) == "\r\n")) {
    ++end;
  }
  return end;
}

}  // namespace

Result<Charsmap> Charsmap::read(std::string_view base64) {
  const auto bytes = from_base64(base64);
  if (!bytes) return fail("is no base64; copy the file anew");
  std::uint32_t size = 0;
  if (bytes->size() < sizeof(size)) return fail("is cut off; copy the file anew");
  std::memcpy(&size, bytes->data(), sizeof(size));
  if (size == 0 || size % sizeof(std::uint32_t) != 0 || size > bytes->size() - sizeof(size)) {
    return fail("says that its trie has {} bytes, and {} follow; copy the file anew", size,
                bytes->size() - sizeof(size));
  }
  Charsmap map;
  map.units_.resize(size / sizeof(std::uint32_t));
  std::memcpy(map.units_.data(), bytes->data() + sizeof(size), size);
  map.replacements_ = bytes->substr(sizeof(size) + size);
  if (first_byte_that_is_no_utf8(map.replacements_)) {
    return fail("has replacements that are no UTF-8; copy the file anew");
  }
  for (std::size_t c = 0; c < map.stays_.size(); ++c) {
    const char byte = static_cast<char>(c);
    map.stays_[c] = !map.replacement({&byte, 1});
  }
  return map;
}

std::optional<std::string_view> Charsmap::replacement(std::string_view text) const {
  std::size_t at = offset(units_.front());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    at ^= byte;
    if (byte == 0 || at >= units_.size() || label(units_[at]) != byte) return std::nullopt;
    const bool ends = has_value(units_[at]);
    at ^= offset(units_[at]);
    if (!ends) continue;
    if (at >= units_.size()) return std::nullopt;
    const std::size_t begin = value_of(units_[at]);
    const std::string_view all = replacements_;
    if (begin >= all.size() || continues_character(all[begin])) return std::nullopt;
    return all.substr(begin, all.find('\0', begin) - begin);
  }
  return std::nullopt;
}

std::size_t Charsmap::longest() const {
  std::size_t longest = 0, length = 0;
  for (const char byte : replacements_) {
    length = byte == '\0' ? 0 : length + 1;
    longest = std::max(longest, length);
  }
  return longest;
}

void Charsmap::append(std::string_view grapheme, std::string& to) const {
  constexpr std::size_t looked_up_whole = 6;  // fewer bytes than this
  if (grapheme.size() < looked_up_whole) {
    if (const auto whole = replacement(grapheme)) {
      to += *whole;
      return;
    }
  }
  for (std::size_t at = 0; at < grapheme.size();) {
    const std::size_t begin = at;
    static_cast<void>(next_character(grapheme, at));
    const std::string_view character = grapheme.substr(begin, at - begin);
    to += replacement(character).value_or(character);
  }
}

void Charsmap::apply(std::string& utf8) const {
  const std::string_view text = utf8;
  std::string applied;
  applied.reserve(text.size() + text.size() / 8);
  icu::LocalUTextPointer opened;
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const std::size_t end = end_of_stretch(text, at);
    if (end == at + 1) {  // a single ASCII character
      if (stays_[byte]) {
        applied += text[at];
      } else {
        append(text.substr(at, 1), applied);
      }
      at = end;
      continue;
    }
    UErrorCode status = U_ZERO_ERROR;
    opened.adoptInstead(
        utext_openUTF8(nullptr, text.data() + at, static_cast<std::int64_t>(end - at), &status));
    icu::BreakIterator& iterator = graphemes();
    iterator.setText(opened.getAlias(), status);
    if (U_FAILURE(status) != 0) throw std::runtime_error(u_errorName(status));
    for (std::int32_t from = iterator.first(), to = iterator.next(); to != icu::BreakIterator::DONE;
         from = to, to = iterator.next()) {
      append(text.substr(at + static_cast<std::size_t>(from), static_cast<std::size_t>(to - from)),
             applied);
    }
    at = end;
  }
  utf8 = std::move(applied);
}

}  // namespace attnscope
