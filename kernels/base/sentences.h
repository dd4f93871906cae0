#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What sentences to a person are made of: texts from outside (a file's field, an argument, a line
// of another process) on one line, in UTF-8, and short; and the mend for a misspelt name, the known
// one at the least edit distance.
//
//   return fail("'{}' is not a window; {}", in_a_sentence(text), suggest(text, known));

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace attnscope {

/// Characters that no one sees, that a terminal obeys or that put others elsewhere (controls, ESC,
/// marks of direction), and bytes that are not UTF-8, become '?'; beyond `most` bytes the text ends
/// in "...".
[[nodiscard]] std::string in_a_sentence(std::string_view text, std::size_t most = 60);

/// The same for whole pages: lines and tabs stay, and nothing is cut.
[[nodiscard]] std::string visible(std::string_view text);

/// What the system says of an errno: "No such file or directory".
[[nodiscard]] std::string system_reason(int error);

/// "1 heat", "3 heats".
[[nodiscard]] std::string counted(std::size_t count, std::string_view one);

/// "did you mean 'window'? known: a, b, c"; without the question when nothing is near.
[[nodiscard]] std::string suggest(std::string_view unknown,
                                  std::span<const std::string_view> known);

}  // namespace attnscope
