// SPDX-License-Identifier: Apache-2.0
#include "engine/text/basic_text.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/uniset.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

namespace attnscope {
namespace {

// What BERT's tokenizer asks of a character, by the tables that Hugging Face's has: categories are
// those of Unicode 8, decompositions those of Unicode 9, lower case that of Unicode 17. ICU knows
// since when a character exists, so its newer tables answer for the older ones; what changed its
// category since is listed.

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

/// Cc but tab and line ends, Cf, Co. Unassigned characters are no control characters there.
bool is_control(UChar32 c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  const std::uint32_t category = U_GET_GC_MASK(c);
  if ((category & (U_GC_CC_MASK | U_GC_CO_MASK)) != 0) return true;
  return (category & U_GC_CF_MASK) != 0 && known_to_categories(c);
}

/// Unicode's White_Space, tab and line ends among it.
bool is_white_space(UChar32 c) {
  return u_isUWhiteSpace(c) != 0;
}

/// ASCII's punctuation and symbols, and Unicode's categories P*.
bool is_punctuation(UChar32 c) {
  constexpr UChar32 ascii_end = 0x80;
  if (c < ascii_end) return c > ' ' && c < 0x7F && u_isalnum(c) == 0;
  if (any_holds(were_punctuation, c)) return true;
  return (U_GET_GC_MASK(c) & U_GC_P_MASK) != 0 && known_to_categories(c);
}

/// Mn: what stripping accents takes away after the decomposition.
bool is_nonspacing_mark(UChar32 c) {
  if (any_holds(were_marks, c)) return true;
  return (U_GET_GC_MASK(c) & U_GC_MN_MASK) != 0 && known_to_categories(c) &&
         !any_holds(were_no_marks, c);
}

/// Ideographs that BERT takes for words of their own.
bool is_ideograph(UChar32 c) {
  return any_holds(ideographs, c);
}

/// But U+0130, whose lower case is two characters.
UChar32 lower_case(UChar32 c) {
  if (c >= youngest_begin) {
    for (const YoungLetters& letters : young_letters) {
      if (letters.upper.hold(c)) return letters.first_lower + (c - letters.upper.first);
    }
  }
  return u_tolower(c);
}

constexpr UChar32 replacement = 0xFFFD;
constexpr UChar32 dotted_capital_i = 0x130, combining_dot_above = 0x307;

using CodePointList = std::vector<UChar32>;

CodePointList code_points_of(std::string_view utf8) {
  CodePointList list;
  list.reserve(utf8.size());
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(utf8.data());
  const auto size = static_cast<std::int64_t>(utf8.size());
  for (std::int64_t i = 0; i < size;) {
    UChar32 c = 0;
    U8_NEXT_OR_FFFD(bytes, i, size, c);
    list.push_back(c);
  }
  return list;
}

void clean(CodePointList& text) {
  std::erase_if(text, [](UChar32 c) { return c == 0 || c == replacement || is_control(c); });
  std::ranges::replace_if(text, is_white_space, ' ');
}

void set_ideographs_apart(CodePointList& text) {
  if (std::ranges::none_of(text, is_ideograph)) return;
  CodePointList apart;
  apart.reserve(3 * text.size());
  for (const UChar32 c : text) {
    if (is_ideograph(c)) {
      apart.insert(apart.end(), {' ', c, ' '});
    } else {
      apart.push_back(c);
    }
  }
  text = std::move(apart);
}

/// Canonical decomposition as Unicode 9 had it: characters that came later stand as they are, and
/// their combining classes order nothing.
class Decomposition {
 public:
  Decomposition()
      : known_(icu::UnicodeString("[:Age=9.0:]"), status_), filtered_(base(status_), known_) {
    if (U_FAILURE(status_) != 0) {
      throw std::runtime_error(std::string("ICU has no tables: ") + u_errorName(status_));
    }
  }
  [[nodiscard]] CodePointList of(const CodePointList& text) const {
    const auto source =
        icu::UnicodeString::fromUTF32(text.data(), static_cast<std::int32_t>(text.size()));
    UErrorCode status = U_ZERO_ERROR;
    icu::UnicodeString decomposed;
    filtered_.normalize(source, decomposed, status);
    if (U_FAILURE(status) != 0) throw std::runtime_error(u_errorName(status));
    CodePointList list(static_cast<std::size_t>(decomposed.countChar32()));
    decomposed.toUTF32(list.data(), static_cast<std::int32_t>(list.size()), status);
    return list;
  }

 private:
  static const icu::Normalizer2& base(UErrorCode& status) {
    const icu::Normalizer2* nfd = icu::Normalizer2::getNFDInstance(status);
    if (nfd == nullptr) throw std::runtime_error("ICU has no tables of decompositions");
    return *nfd;
  }
  UErrorCode status_ = U_ZERO_ERROR;
  icu::UnicodeSet known_;
  icu::FilteredNormalizer2 filtered_;
};

void strip_accents(CodePointList& text) {
  constexpr UChar32 ascii_end = 0x80;
  if (std::ranges::all_of(text, [](UChar32 c) { return c < ascii_end; })) return;
  static const Decomposition decomposition;
  text = decomposition.of(text);
  std::erase_if(text, is_nonspacing_mark);
}

void to_lower_case(CodePointList& text) {
  if (std::ranges::find(text, dotted_capital_i) == text.end()) {
    std::ranges::transform(text, text.begin(), lower_case);
    return;
  }
  CodePointList lower;
  lower.reserve(text.size() + 8);
  for (const UChar32 c : text) {
    lower.push_back(c == dotted_capital_i ? 'i' : lower_case(c));
    if (c == dotted_capital_i) lower.push_back(combining_dot_above);
  }
  text = std::move(lower);
}

void append(std::string& utf8, UChar32 c) {
  char bytes[U8_MAX_LENGTH];
  std::int32_t size = 0;
  U8_APPEND_UNSAFE(reinterpret_cast<std::uint8_t*>(bytes), size, c);
  utf8.append(bytes, static_cast<std::size_t>(size));
}

}  // namespace

std::optional<std::int64_t> first_byte_that_is_no_utf8(std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  const auto size = static_cast<std::int64_t>(text.size());
  for (std::int64_t i = 0; i < size;) {
    const std::int64_t begin = i;
    UChar32 c = 0;
    U8_NEXT(bytes, i, size, c);
    if (c < 0) return begin;
  }
  return std::nullopt;
}

std::string split_into_words(std::string_view utf8, const TextRules& rules) {
  CodePointList text = code_points_of(utf8);
  if (rules.clean_text) clean(text);
  if (rules.handle_chinese_chars) set_ideographs_apart(text);
  if (rules.strip_accents) strip_accents(text);
  if (rules.lowercase) to_lower_case(text);
  std::string words;
  words.reserve(utf8.size() + utf8.size() / 4);
  bool apart = false;  // the next character begins a word
  for (const UChar32 c : text) {
    if (is_white_space(c)) {
      apart = true;
      continue;
    }
    const bool alone = is_punctuation(c);
    if ((apart || alone) && !words.empty()) words += ' ';
    append(words, c);
    apart = alone;
  }
  return words;
}

}  // namespace attnscope
