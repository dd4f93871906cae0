#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What tokenizers ask of characters, as Hugging Face's answers it: each question by the version of
// Unicode that the table behind it there has. Texts are UTF-8.
//
//   for (std::size_t at = 0; at < text.size();) {
//     const char32_t c = next_character(text, at);
//     if (is_white_space(c)) ...
//   }

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attnscope {

/// Where the first byte stands that is no part of a character.
[[nodiscard]] std::optional<std::int64_t> first_byte_that_is_no_utf8(std::string_view text);

/// With U+FFFD for bytes that are no UTF-8.
[[nodiscard]] std::string as_utf8(std::string_view bytes);

/// The character that begins at `at`, which moves behind it. The text is UTF-8, `at` before its
/// end.
[[nodiscard]] char32_t next_character(std::string_view utf8, std::size_t& at);
void append_character(std::string& utf8, char32_t c);

constexpr bool is_ascii(char32_t c) {
  return c < 0x80;
}
/// No byte of a character of two or more.
[[nodiscard]] bool is_ascii(std::string_view text);
/// Bytes behind a character's first.
constexpr bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

[[nodiscard]] bool is_white_space(char32_t c);  // White_Space, tab and line ends among it
/// ASCII's punctuation and symbols, and the categories P* of Unicode 8.
[[nodiscard]] bool is_punctuation(char32_t c);
/// Cc but tab and line ends, Cf, Co, of Unicode 8; characters that are none are no controls there.
[[nodiscard]] bool is_control(char32_t c);
[[nodiscard]] bool is_ideograph(char32_t c);        // that BERT takes for a word of its own
[[nodiscard]] bool is_nonspacing_mark(char32_t c);  // Mn of Unicode 8
[[nodiscard]] bool is_combining_mark(char32_t c);   // M* of Unicode 9
[[nodiscard]] bool is_letter(char32_t c);           // \p{L} of Unicode 16
[[nodiscard]] bool is_number(char32_t c);           // \p{N} of Unicode 16
[[nodiscard]] bool is_numeric(char32_t c);          // the same of Unicode 17
/// \w: alphabetic, a mark, a decimal number, a connector or a joiner, of Unicode 16.
[[nodiscard]] bool is_word_character(char32_t c);

/// The general category of Unicode 16: "Lu", "Nd"; "Cn" of what is no character.
[[nodiscard]] std::string_view category(char32_t c);

/// Its script by Unicode 9, as ICU numbers them, Hiragana and Katakana as Han; -1: none.
[[nodiscard]] int script(char32_t c);

/// In the lower case of Unicode 17: U+0130 becomes two.
void append_lower_case(std::string& utf8, char32_t c);

enum class NormalForm : std::uint8_t { nfc, nfd, nfkc, nfkd };

/// As Unicode 9 has the form: characters that came later stand as they are, and their combining
/// classes order nothing.
[[nodiscard]] std::string normal_form(NormalForm form, std::string utf8);

}  // namespace attnscope
