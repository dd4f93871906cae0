#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What BERT's tokenizer asks of a character, by the tables that Hugging Face's has: categories are
// those of Unicode 8, decompositions those of Unicode 9, lower case that of Unicode 17. ICU knows
// since when a character exists, so its newer tables answer for the older ones; what changed its
// category since is listed.

#include <unicode/umachine.h>

namespace attnscope {

/// Cc but tab and line ends, Cf, Co. Unassigned characters are no control characters there.
[[nodiscard]] bool is_control(UChar32 c);
/// Unicode's White_Space, tab and line ends among it.
[[nodiscard]] bool is_white_space(UChar32 c);
/// ASCII's punctuation and symbols, and Unicode's categories P*.
[[nodiscard]] bool is_punctuation(UChar32 c);
/// Mn: what stripping accents takes away after the decomposition.
[[nodiscard]] bool is_nonspacing_mark(UChar32 c);
/// Ideographs that BERT takes for words of their own.
[[nodiscard]] bool is_ideograph(UChar32 c);
/// But U+0130, whose lower case is two characters.
[[nodiscard]] UChar32 lower_case(UChar32 c);

}  // namespace attnscope
