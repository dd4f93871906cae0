// SPDX-License-Identifier: Apache-2.0
#include "engine/text/basic_text.h"

#include <unicode/normalizer2.h>
#include <unicode/uniset.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "engine/text/code_points.h"

namespace attnscope {
namespace {

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
