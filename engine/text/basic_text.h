#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// BERT's basic tokenizer: cleaning, ideographs apart, accents stripped, lower case, then words at
// white space and around every punctuation character.
//
//   split_into_words("Où est-ce?", {});   // "ou est - ce ?"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attnscope {

/// By default those of bert-base-uncased. The names are Hugging Face's.
struct TextRules {
  bool clean_text = true;            // control characters go, white space becomes a space
  bool handle_chinese_chars = true;  // ideographs are words of their own
  bool strip_accents = true;         // decompose, then drop non-spacing marks
  bool lowercase = true;
};

/// Where the first byte stands that is no part of a character.
[[nodiscard]] std::optional<std::int64_t> first_byte_that_is_no_utf8(std::string_view text);

/// The words in order, one space between two. Bytes that are no UTF-8 are U+FFFD.
[[nodiscard]] std::string split_into_words(std::string_view utf8, const TextRules& rules);

}  // namespace attnscope
