// SPDX-License-Identifier: Apache-2.0
#include "engine/text/code_points.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace attnscope {
namespace {

constexpr int category_version = 8;  // of Unicode

bool known_to_categories(UChar32 c) {
  UVersionInfo age;
  u_charAge(c, age);
  return age[0] > 0 && (age[0] < category_version || (age[0] == category_version && age[1] == 0));
}

struct CodePoints {
  UChar32 first, last;
  [[nodiscard]] bool hold(UChar32 c) const { return first <= c && c <= last; }
};

template <std::size_t N>
bool any_holds(const std::array<CodePoints, N>& ranges, UChar32 c) {
  return std::ranges::any_of(ranges, [c](const CodePoints& range) { return range.hold(c); });
}

// Of another category since Unicode 9 to 15.
constexpr std::array<CodePoints, 2> were_punctuation{{{0x166D, 0x166D}, {0x111C9, 0x111C9}}};
constexpr std::array<CodePoints, 1> were_marks{{{0x1734, 0x1734}}};
constexpr std::array<CodePoints, 3> were_no_marks{
    {{0x1885, 0x1886}, {0xA9BD, 0xA9BD}, {0x111C9, 0x111C9}}};

/// Upper-case letters that came with Unicode 16 and 17.
struct YoungLetters {
  CodePoints upper;
  UChar32 first_lower;
};
constexpr std::array<YoungLetters, 10> young_letters{{{{0x1C89, 0x1C89}, 0x1C8A},
                                                      {{0xA7CB, 0xA7CB}, 0x264},
                                                      {{0xA7CC, 0xA7CC}, 0xA7CD},
                                                      {{0xA7CE, 0xA7CE}, 0xA7CF},
                                                      {{0xA7D2, 0xA7D2}, 0xA7D3},
                                                      {{0xA7D4, 0xA7D4}, 0xA7D5},
                                                      {{0xA7DA, 0xA7DA}, 0xA7DB},
                                                      {{0xA7DC, 0xA7DC}, 0x19B},
                                                      {{0x10D50, 0x10D65}, 0x10D70},
                                                      {{0x16EA0, 0x16EB8}, 0x16EBB}}};

constexpr UChar32 youngest_begin = 0x1C89;

// U+2B820 to U+2B91F are ideographs, too; Hugging Face's list leaves them out.
constexpr std::array<CodePoints, 8> ideographs{{{0x4E00, 0x9FFF},
                                                {0x3400, 0x4DBF},
                                                {0x20000, 0x2A6DF},
                                                {0x2A700, 0x2B73F},
                                                {0x2B740, 0x2B81F},
                                                {0x2B920, 0x2CEAF},
                                                {0xF900, 0xFAFF},
                                                {0x2F800, 0x2FA1F}}};

}  // namespace

bool is_control(UChar32 c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  const std::uint32_t category = U_GET_GC_MASK(c);
  if ((category & (U_GC_CC_MASK | U_GC_CO_MASK)) != 0) return true;
  return (category & U_GC_CF_MASK) != 0 && known_to_categories(c);
}

bool is_white_space(UChar32 c) {
  return u_isUWhiteSpace(c) != 0;
}

bool is_punctuation(UChar32 c) {
  constexpr UChar32 ascii_end = 0x80;
  if (c < ascii_end) return c > ' ' && c < 0x7F && u_isalnum(c) == 0;
  if (any_holds(were_punctuation, c)) return true;
  return (U_GET_GC_MASK(c) & U_GC_P_MASK) != 0 && known_to_categories(c);
}

bool is_nonspacing_mark(UChar32 c) {
  if (any_holds(were_marks, c)) return true;
  return (U_GET_GC_MASK(c) & U_GC_MN_MASK) != 0 && known_to_categories(c) &&
         !any_holds(were_no_marks, c);
}

bool is_ideograph(UChar32 c) {
  return any_holds(ideographs, c);
}

UChar32 lower_case(UChar32 c) {
  if (c >= youngest_begin) {
    for (const YoungLetters& letters : young_letters) {
      if (letters.upper.hold(c)) return letters.first_lower + (c - letters.upper.first);
    }
  }
  return u_tolower(c);
}

}  // namespace attnscope
