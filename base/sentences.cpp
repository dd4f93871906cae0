// SPDX-License-Identifier: Apache-2.0
#include "base/sentences.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <system_error>
#include <utility>
#include <vector>

namespace attnscope {
namespace {

bool continues(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// Bytes of the UTF-8 character at the start of the text; 0 if it is invalid: malformed, overlong,
/// a surrogate, or beyond the last code point (RFC 3629).
std::size_t character_at(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = lead < 0x80                   ? 1
                             : lead >= 0xC2 && lead < 0xE0 ? 2
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xF0 && lead < 0xF5 ? 4
                                                           : 0;
  if (length == 0 || length > text.size()) return 0;
  if (!std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(length),
                   continues)) {
    return 0;
  }
  const auto second = length > 1 ? static_cast<unsigned char>(text[1]) : 0U;
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool no_character = (lead == 0xED && second > 0x9F) || (lead == 0xF4 && second > 0x8F);
  return overlong || no_character ? 0 : length;
}

char32_t code_point(std::string_view character) {
  if (character.size() == 1) return static_cast<unsigned char>(character[0]);
  char32_t code = static_cast<unsigned char>(character[0]) & (0x7FU >> character.size());
  for (const char c : character.substr(1))
    code = code << 6 | (static_cast<unsigned char>(c) & 0x3FU);
  return code;
}

/// Characters that are invisible or reorder text: controls (terminals interpret both kinds),
/// direction marks and overrides, line and paragraph separators, tags.
bool is_hidden(char32_t code) {
  constexpr std::array<std::pair<char32_t, char32_t>, 11> ranges{{{0x00, 0x1F},
                                                                  {0x7F, 0x9F},
                                                                  {0x61C, 0x61C},
                                                                  {0x200B, 0x200B},
                                                                  {0x200E, 0x200F},
                                                                  {0x2028, 0x202E},
                                                                  {0x2060, 0x206F},
                                                                  {0xFEFF, 0xFEFF},
                                                                  {0xFFF9, 0xFFFB},
                                                                  {0xFFFE, 0xFFFF},
                                                                  {0xE0000, 0xE007F}}};
  return std::ranges::any_of(
      ranges, [code](const auto& range) { return code >= range.first && code <= range.second; });
}

/// Removes the first character from the text; returns "?" for an invalid or hidden one.
std::string_view take_visible(std::string_view& text) {
  const std::size_t length = character_at(text);
  const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
  text.remove_prefix(character.size());
  return length == 0 || is_hidden(code_point(character)) ? "?" : character;
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Case-insensitive number of edits that turn a into b: insertions, deletions, replacements and
/// swaps of neighbours (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1])) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

bool has_control_character(std::string_view text, std::string_view allowed) {
  constexpr unsigned char first_visible = 0x20, del = 0x7f;
  return std::ranges::any_of(text, [allowed](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < first_visible || byte == del) && allowed.find(c) == std::string_view::npos;
  });
}

std::string system_reason(int error) {
  return std::generic_category().message(error);
}

std::string in_a_sentence(std::string_view text, std::size_t most) {
  std::string shown;
  while (!text.empty()) {
    const std::string_view character = take_visible(text);
    if (shown.size() + character.size() > most) return shown + "...";
    shown += character;
  }
  return shown;
}

std::string visible(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const std::size_t layout = text.starts_with("\r\n")                           ? 2
                               : text.starts_with('\n') || text.starts_with('\t') ? 1
                                                                                  : 0;
    shown += layout > 0 ? text.substr(0, layout) : take_visible(text);
    text.remove_prefix(layout);
  }
  return shown;
}

std::string suggest(std::string_view unknown, std::span<const std::string_view> known) {
  std::string_view nearest;
  // With more than a third of its letters changed, a word is another word, not a misspelling.
  std::size_t least = std::max<std::size_t>(1, (unknown.size() + 1) / 3) + 1;
  for (const std::string_view name : known) {
    const std::size_t distance = edit_distance(unknown, name);
    if (distance < least && distance < name.size()) {
      least = distance;
      nearest = name;
    }
  }
  const std::string list = fmt::format("known: {}", fmt::join(known, ", "));
  return nearest.empty() ? list : fmt::format("did you mean '{}'? {}", nearest, list);
}

}  // namespace attnscope
