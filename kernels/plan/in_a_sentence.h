#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Texts from outside (a file's field, an argument, a line of another process) inside a sentence of
// ours: on one line, in UTF-8, and short, so that the sentence stays one wherever it is shown.
//
//   return fail("'{}' is not a window", in_a_sentence(text));

#include <cstddef>
#include <string>
#include <string_view>

namespace attnscope {

/// Control characters and bytes that are not UTF-8 become '?'; beyond `most` bytes the text ends
/// in "...".
[[nodiscard]] std::string in_a_sentence(std::string_view text, std::size_t most = 60);

}  // namespace attnscope
