// SPDX-License-Identifier: Apache-2.0
#include "engine/text/characters.h"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/uniset.h>
#include <unicode/unistr.h>
#include <unicode/uscript.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace attnscope {
namespace {

// Hugging Face's code uses the categories of punctuation and controls of Unicode 8, decompositions
// and combining marks of Unicode 9, letters and numbers of Unicode 16, lower case and white space
// of Unicode 17. ICU knows the version that introduced each character, so its newer tables also
// give the older results; characters whose category has changed since, and characters newer than
// ICU 72, are listed here.

bool is_as_old_as(UChar32 c, int version) {
  UVersionInfo age;
  u_charAge(c, age);
  return age[0] > 0 && (age[0] < version || (age[0] == version && age[1] == 0));
}

constexpr int punctuation_version = 8, marks_version = 9;

struct CodePoints {
  UChar32 first, last;
  [[nodiscard]] bool hold(UChar32 c) const { return first <= c && c <= last; }
};

template <std::size_t N>
bool any_holds(const std::array<CodePoints, N>& ranges, UChar32 c) {
  return std::ranges::any_of(ranges, [c](const CodePoints& range) { return range.hold(c); });
}

// Characters whose category changed between Unicode 9 and Unicode 16.
constexpr std::array<CodePoints, 2> were_punctuation{{{0x166D, 0x166D}, {0x111C9, 0x111C9}}};
constexpr std::array<CodePoints, 2> were_marks{{{0x1734, 0x1734}, {0x1171E, 0x1171E}}};
constexpr std::array<CodePoints, 3> were_no_marks{
    {{0x1885, 0x1886}, {0xA9BD, 0xA9BD}, {0x111C9, 0x111C9}}};
constexpr std::array<CodePoints, 1> were_spacing_marks{{{0x1CF2, 0x1CF3}}};

/// Upper-case letters introduced in Unicode 16 and 17.
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

/// Characters introduced in Unicode 15.1 and 16, in order.
struct YoungCharacters {
  CodePoints range;
  UCharCategory category;
};
constexpr auto Lu = U_UPPERCASE_LETTER, Ll = U_LOWERCASE_LETTER, Lm = U_MODIFIER_LETTER,
               Lo = U_OTHER_LETTER, Mn = U_NON_SPACING_MARK, Mc = U_COMBINING_SPACING_MARK,
               Nd = U_DECIMAL_DIGIT_NUMBER, Pd = U_DASH_PUNCTUATION, Po = U_OTHER_PUNCTUATION,
               Sm = U_MATH_SYMBOL, So = U_OTHER_SYMBOL;
constexpr std::array<YoungCharacters, 83> young_characters{
    {{{0x897, 0x897}, Mn},     {{0x1B4E, 0x1B4F}, Po},   {{0x1B7F, 0x1B7F}, Po},
     {{0x1C89, 0x1C89}, Lu},   {{0x1C8A, 0x1C8A}, Ll},   {{0x2427, 0x2429}, So},
     {{0x2FFC, 0x2FFF}, So},   {{0x31E4, 0x31E5}, So},   {{0x31EF, 0x31EF}, So},
     {{0xA7CB, 0xA7CC}, Lu},   {{0xA7CD, 0xA7CD}, Ll},   {{0xA7DA, 0xA7DA}, Lu},
     {{0xA7DB, 0xA7DB}, Ll},   {{0xA7DC, 0xA7DC}, Lu},   {{0x105C0, 0x105F3}, Lo},
     {{0x10D40, 0x10D49}, Nd}, {{0x10D4A, 0x10D4D}, Lo}, {{0x10D4E, 0x10D4E}, Lm},
     {{0x10D4F, 0x10D4F}, Lo}, {{0x10D50, 0x10D65}, Lu}, {{0x10D69, 0x10D6D}, Mn},
     {{0x10D6E, 0x10D6E}, Pd}, {{0x10D6F, 0x10D6F}, Lm}, {{0x10D70, 0x10D85}, Ll},
     {{0x10D8E, 0x10D8F}, Sm}, {{0x10EC2, 0x10EC4}, Lo}, {{0x10EFC, 0x10EFC}, Mn},
     {{0x11380, 0x11389}, Lo}, {{0x1138B, 0x1138B}, Lo}, {{0x1138E, 0x1138E}, Lo},
     {{0x11390, 0x113B5}, Lo}, {{0x113B7, 0x113B7}, Lo}, {{0x113B8, 0x113BA}, Mc},
     {{0x113BB, 0x113C0}, Mn}, {{0x113C2, 0x113C2}, Mc}, {{0x113C5, 0x113C5}, Mc},
     {{0x113C7, 0x113CA}, Mc}, {{0x113CC, 0x113CD}, Mc}, {{0x113CE, 0x113CE}, Mn},
     {{0x113CF, 0x113CF}, Mc}, {{0x113D0, 0x113D0}, Mn}, {{0x113D1, 0x113D1}, Lo},
     {{0x113D2, 0x113D2}, Mn}, {{0x113D3, 0x113D3}, Lo}, {{0x113D4, 0x113D5}, Po},
     {{0x113D7, 0x113D8}, Po}, {{0x113E1, 0x113E2}, Mn}, {{0x116D0, 0x116E3}, Nd},
     {{0x11BC0, 0x11BE0}, Lo}, {{0x11BE1, 0x11BE1}, Po}, {{0x11BF0, 0x11BF9}, Nd},
     {{0x11F5A, 0x11F5A}, Mn}, {{0x13460, 0x143FA}, Lo}, {{0x16100, 0x1611D}, Lo},
     {{0x1611E, 0x16129}, Mn}, {{0x1612A, 0x1612C}, Mc}, {{0x1612D, 0x1612F}, Mn},
     {{0x16130, 0x16139}, Nd}, {{0x16D40, 0x16D42}, Lm}, {{0x16D43, 0x16D6A}, Lo},
     {{0x16D6B, 0x16D6C}, Lm}, {{0x16D6D, 0x16D6F}, Po}, {{0x16D70, 0x16D79}, Nd},
     {{0x18CFF, 0x18CFF}, Lo}, {{0x1CC00, 0x1CCEF}, So}, {{0x1CCF0, 0x1CCF9}, Nd},
     {{0x1CD00, 0x1CEB3}, So}, {{0x1E5D0, 0x1E5ED}, Lo}, {{0x1E5EE, 0x1E5EF}, Mn},
     {{0x1E5F0, 0x1E5F0}, Lo}, {{0x1E5F1, 0x1E5FA}, Nd}, {{0x1E5FF, 0x1E5FF}, Po},
     {{0x1F8B2, 0x1F8BB}, So}, {{0x1F8C0, 0x1F8C1}, So}, {{0x1FA89, 0x1FA89}, So},
     {{0x1FA8F, 0x1FA8F}, So}, {{0x1FABE, 0x1FABE}, So}, {{0x1FAC6, 0x1FAC6}, So},
     {{0x1FADC, 0x1FADC}, So}, {{0x1FADF, 0x1FADF}, So}, {{0x1FAE9, 0x1FAE9}, So},
     {{0x1FBCB, 0x1FBEF}, So}, {{0x2EBF0, 0x2EE5D}, Lo}}};

// Numbers introduced in Unicode 17.
constexpr std::array<CodePoints, 2> youngest_numbers{{{0x11DE0, 0x11DE9}, {0x16FF4, 0x16FF6}}};

// U+2B820 to U+2B91F are also ideographs; Hugging Face's list omits them.
constexpr std::array<CodePoints, 8> ideographs{{{0x4E00, 0x9FFF},
                                                {0x3400, 0x4DBF},
                                                {0x20000, 0x2A6DF},
                                                {0x2A700, 0x2B73F},
                                                {0x2B740, 0x2B81F},
                                                {0x2B920, 0x2CEAF},
                                                {0xF900, 0xFAFF},
                                                {0x2F800, 0x2FA1F}}};

/// The general category of Unicode 16.
UCharCategory category_of(UChar32 c) {
  const auto category = static_cast<UCharCategory>(u_charType(c));
  if (category != U_UNASSIGNED) return category;
  const auto* young = std::ranges::lower_bound(
      young_characters, c, {}, [](const YoungCharacters& some) { return some.range.last; });
  return young != young_characters.end() && young->range.hold(c) ? young->category : U_UNASSIGNED;
}

bool has_category(UChar32 c, std::uint32_t mask) {
  return (U_MASK(category_of(c)) & mask) != 0;
}

UChar32 of_icu(char32_t c) {
  return static_cast<UChar32>(c);
}

constexpr UChar32 dotted_capital_i = 0x130, combining_dot_above = 0x307;

/// Except U+0130, whose lower case has two characters.
UChar32 lower_case(UChar32 c) {
  if (c >= youngest_begin) {
    for (const YoungLetters& letters : young_letters) {
      if (letters.upper.hold(c)) return letters.first_lower + (c - letters.upper.first);
    }
  }
  return u_tolower(c);
}

void needs(UErrorCode status) {
  if (U_FAILURE(status) != 0) {
    throw std::runtime_error(std::string("ICU has no tables: ") + u_errorName(status));
  }
}

/// A normal form as implemented by ICU, and as of Unicode 9.
class Form {
 public:
  Form(const char* name, UNormalization2Mode mode)
      : today_(today(name, mode)), known_(known()), filtered_(today_, known_) {}
  [[nodiscard]] std::string of(std::string utf8) const {
    UErrorCode status = U_ZERO_ERROR;
    // Text in today's form was also in that of Unicode 9: normal forms are stable.
    if (today_.isNormalizedUTF8(utf8, status) != 0 && U_SUCCESS(status) != 0) return utf8;
    status = U_ZERO_ERROR;
    icu::UnicodeString formed;
    filtered_.normalize(icu::UnicodeString::fromUTF8(utf8), formed, status);
    needs(status);
    utf8.clear();
    return formed.toUTF8String(utf8);
  }

 private:
  static const icu::Normalizer2& today(const char* name, UNormalization2Mode mode) {
    UErrorCode status = U_ZERO_ERROR;
    const icu::Normalizer2* form = icu::Normalizer2::getInstance(nullptr, name, mode, status);
    needs(status);
    return *form;
  }
  static icu::UnicodeSet known() {
    UErrorCode status = U_ZERO_ERROR;
    icu::UnicodeSet set(icu::UnicodeString("[:Age=9.0:]"), status);
    needs(status);
    return set;
  }
  const icu::Normalizer2& today_;
  icu::UnicodeSet known_;
  icu::FilteredNormalizer2 filtered_;
};

}  // namespace

bool is_ascii(std::string_view text) {
  return std::ranges::none_of(text, [](char byte) { return (byte & 0x80) != 0; });
}

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

std::string as_utf8(std::string_view bytes) {
  if (!first_byte_that_is_no_utf8(bytes)) return std::string(bytes);
  std::string utf8;
  const auto* at = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const auto size = static_cast<std::int64_t>(bytes.size());
  for (std::int64_t i = 0; i < size;) {
    UChar32 c = 0;
    U8_NEXT_OR_FFFD(at, i, size, c);
    append_character(utf8, static_cast<char32_t>(c));
  }
  return utf8;
}

char32_t next_character(std::string_view utf8, std::size_t& at) {
  const auto lead = static_cast<unsigned char>(utf8[at]);
  if (is_ascii(lead)) {
    ++at;
    return lead;
  }
  UChar32 c = 0;
  U8_NEXT_UNSAFE(reinterpret_cast<const std::uint8_t*>(utf8.data()), at, c);
  return static_cast<char32_t>(c);
}

void append_character(std::string& utf8, char32_t c) {
  if (is_ascii(c)) {
    utf8 += static_cast<char>(c);
    return;
  }
  char bytes[U8_MAX_LENGTH];
  std::int32_t size = 0;
  U8_APPEND_UNSAFE(reinterpret_cast<std::uint8_t*>(bytes), size, of_icu(c));
  utf8.append(bytes, static_cast<std::size_t>(size));
}

bool is_white_space(char32_t c) {
  if (is_ascii(c)) return c == ' ' || (c >= '\t' && c <= '\r');
  return u_isUWhiteSpace(of_icu(c)) != 0;
}

bool is_punctuation(char32_t c) {
  if (is_ascii(c)) return c > ' ' && c < 0x7F && u_isalnum(of_icu(c)) == 0;
  if (any_holds(were_punctuation, of_icu(c))) return true;
  return (U_GET_GC_MASK(of_icu(c)) & U_GC_P_MASK) != 0 &&
         is_as_old_as(of_icu(c), punctuation_version);
}

bool is_control(char32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  const std::uint32_t category = U_GET_GC_MASK(of_icu(c));
  if ((category & (U_GC_CC_MASK | U_GC_CO_MASK)) != 0) return true;
  return (category & U_GC_CF_MASK) != 0 && is_as_old_as(of_icu(c), punctuation_version);
}

bool is_ideograph(char32_t c) {
  return any_holds(ideographs, of_icu(c));
}

bool is_nonspacing_mark(char32_t c) {
  if (any_holds(were_marks, of_icu(c))) return true;
  return (U_GET_GC_MASK(of_icu(c)) & U_GC_MN_MASK) != 0 &&
         is_as_old_as(of_icu(c), punctuation_version) && !any_holds(were_no_marks, of_icu(c));
}

bool is_combining_mark(char32_t c) {
  if (any_holds(were_spacing_marks, of_icu(c))) return true;
  constexpr UChar32 was_punctuation = 0x111C9;
  return (U_GET_GC_MASK(of_icu(c)) & U_GC_M_MASK) != 0 && is_as_old_as(of_icu(c), marks_version) &&
         of_icu(c) != was_punctuation;
}

bool is_letter(char32_t c) {
  return has_category(of_icu(c), U_GC_L_MASK);
}

bool is_number(char32_t c) {
  return has_category(of_icu(c), U_GC_N_MASK);
}

bool is_numeric(char32_t c) {
  return is_number(c) || any_holds(youngest_numbers, of_icu(c));
}

bool is_word_character(char32_t c) {
  constexpr std::uint32_t of_words =
      U_GC_L_MASK | U_GC_M_MASK | U_GC_ND_MASK | U_GC_NL_MASK | U_GC_PC_MASK;
  return has_category(of_icu(c), of_words) ||
         u_hasBinaryProperty(of_icu(c), UCHAR_ALPHABETIC) != 0 ||
         u_hasBinaryProperty(of_icu(c), UCHAR_JOIN_CONTROL) != 0;
}

std::string_view category(char32_t c) {
  constexpr std::array<std::string_view, U_CHAR_CATEGORY_COUNT> names{
      "Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Me", "Mc", "Nd", "Nl", "No", "Zs", "Zl", "Zp",
      "Cc", "Cf", "Co", "Cs", "Pd", "Ps", "Pe", "Pc", "Po", "Sm", "Sc", "Sk", "So", "Pi", "Pf"};
  return names[category_of(of_icu(c))];
}

int script(char32_t c) {
  // The script of these characters has changed since.
  if (c == 0x589 || c == 0x61C) return USCRIPT_COMMON;
  if (c == 0x953 || c == 0x954) return USCRIPT_DEVANAGARI;
  UErrorCode status = U_ZERO_ERROR;
  const UScriptCode today = uscript_getScript(of_icu(c), &status);
  if (!is_as_old_as(of_icu(c), marks_version) || today == USCRIPT_UNKNOWN) return -1;
  return today == USCRIPT_HIRAGANA || today == USCRIPT_KATAKANA || c == 0x30FC ? USCRIPT_HAN
                                                                               : today;
}

void append_lower_case(std::string& utf8, char32_t c) {
  if (of_icu(c) == dotted_capital_i) {
    utf8 += 'i';
    append_character(utf8, combining_dot_above);
    return;
  }
  append_character(utf8, static_cast<char32_t>(lower_case(of_icu(c))));
}

std::string normal_form(NormalForm form, std::string utf8) {
  if (is_ascii(utf8)) return utf8;
  switch (form) {
    case NormalForm::nfc: {
      static const Form nfc("nfc", UNORM2_COMPOSE);
      return nfc.of(std::move(utf8));
    }
    case NormalForm::nfd: {
      static const Form nfd("nfc", UNORM2_DECOMPOSE);
      return nfd.of(std::move(utf8));
    }
    case NormalForm::nfkc: {
      static const Form nfkc("nfkc", UNORM2_COMPOSE);
      return nfkc.of(std::move(utf8));
    }
    case NormalForm::nfkd: {
      static const Form nfkd("nfkc", UNORM2_DECOMPOSE);
      return nfkd.of(std::move(utf8));
    }
  }
  return utf8;
}

}  // namespace attnscope
