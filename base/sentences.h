#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Helpers for messages to the user: external texts (a file's field, an argument, a line of another
// process) on one line, in UTF-8, and short; and the suggestion for a misspelt name, the known name
// with the least edit distance.
//
//   return fail("'{}' is not a window; {}", in_a_sentence(text), suggest(text, known));

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace attnscope {

/// Replaces invisible characters, control codes of terminals and characters that reorder text
/// (controls, ESC, direction marks), and bytes that are not UTF-8, with '?'; a text of more than
/// `most` bytes is cut and ends in "...".
[[nodiscard]] std::string in_a_sentence(std::string_view text, std::size_t most = 60);

/// The same for whole pages: keeps lines and tabs, and cuts nothing.
[[nodiscard]] std::string visible(std::string_view text);

/// Whether the text has an ASCII control character (NUL, tab, line ends, ESC, DEL and others) that
/// is not in `allowed`.
[[nodiscard]] bool has_control_character(std::string_view text, std::string_view allowed = {});

/// The system's message for an errno: "No such file or directory".
[[nodiscard]] std::string system_reason(int error);

/// "1 heat", "3 heats".
[[nodiscard]] std::string counted(std::size_t count, std::string_view noun);

/// "did you mean 'window'? known: a, b, c"; without the question if no name is similar.
[[nodiscard]] std::string suggest(std::string_view unknown,
                                  std::span<const std::string_view> known);

}  // namespace attnscope
