#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The first bytes of a file that may be a database in use.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>

namespace attnscope::store {

/// How many bytes were read; nothing, and errno, when the file cannot be opened.
///
/// Read through SQLite's own file system: a process that closes any other descriptor of a file
/// loses all its locks on it (POSIX, fcntl), those of SQLite's connections too. Another program
/// would then take itself for the last user of the database and delete the log that is still in use
/// here (https://www.sqlite.org/howtocorrupt.html, 2.2).
[[nodiscard]] std::optional<std::size_t> read_start(const std::filesystem::path& file,
                                                    std::span<char> bytes);

}  // namespace attnscope::store
