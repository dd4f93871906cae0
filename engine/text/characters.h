#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Character properties for tokenizers with the results of Hugging Face's: each property uses the
// Unicode version of the table in their code. Texts are UTF-8.
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

/// Position of the first byte that is not part of a valid character.
[[nodiscard]] std::optional<std::int64_t> first_byte_that_is_no_utf8(std::string_view text);

/// Replaces bytes that are not valid UTF-8 with U+FFFD.
[[nodiscard]] std::string as_utf8(std::string_view bytes);

/// The character that begins at `at`; moves `at` past it. The text is UTF-8, and `at` is before its
/// end.
[[nodiscard]] char32_t next_character(std::string_view utf8, std::size_t& at);
void append_character(std::string& utf8, char32_t c);

constexpr bool is_ascii(char32_t c) {
  return c < 0x80;
}
/// Whether no byte belongs to a character of two or more bytes.
[[nodiscard]] bool is_ascii(std::string_view text);
/// Whether the byte continues a character after its first byte.
constexpr bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

[[nodiscard]] bool is_white_space(char32_t c);  // White_Space, including tab and line ends
/// ASCII punctuation and symbols, and the categories P* of Unicode 8.
[[nodiscard]] bool is_punctuation(char32_t c);
/// Cc except tab and line ends, Cf, Co, of Unicode 8; unassigned characters are not controls.
[[nodiscard]] bool is_control(char32_t c);
[[nodiscard]] bool is_ideograph(char32_t c);        // a separate word in BERT
[[nodiscard]] bool is_nonspacing_mark(char32_t c);  // Mn of Unicode 8
[[nodiscard]] bool is_combining_mark(char32_t c);   // M* of Unicode 9
[[nodiscard]] bool is_letter(char32_t c);           // \p{L} of Unicode 16
[[nodiscard]] bool is_number(char32_t c);           // \p{N} of Unicode 16
[[nodiscard]] bool is_numeric(char32_t c);          // \p{N} of Unicode 17
/// \w: alphabetic, a mark, a decimal number, a connector or a joiner, of Unicode 16.
[[nodiscard]] bool is_word_character(char32_t c);

/// The general category of Unicode 16: "Lu", "Nd"; "Cn" for an unassigned character.
[[nodiscard]] std::string_view category(char32_t c);

/// The script by Unicode 9, numbered as in ICU, Hiragana and Katakana as Han; -1: none.
[[nodiscard]] int script(char32_t c);

/// Appends the lower case of Unicode 17: U+0130 becomes two characters.
void append_lower_case(std::string& utf8, char32_t c);

enum class NormalForm : std::uint8_t { nfc, nfd, nfkc, nfkd };

/// Normal form of Unicode 9: later characters stay unchanged, and their combining classes have no
/// effect on the order.
[[nodiscard]] std::string normal_form(NormalForm form, std::string utf8);

}  // namespace attnscope
