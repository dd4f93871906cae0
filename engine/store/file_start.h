#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The first bytes of a file that may be a database in use.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>

namespace attnscope::store {

/// Returns the number of bytes read; nothing, with errno set, if the file cannot be opened.
/// Reads through SQLite's own file system: when a process closes any other descriptor of a file, it
/// loses all its locks on that file (POSIX, fcntl), including those of SQLite's connections.
/// Another program would then act as the last user of the database and delete the log that is still
/// in use here (https://www.sqlite.org/howtocorrupt.html, 2.2).
[[nodiscard]] std::optional<std::size_t> read_start(const std::filesystem::path& file,
                                                    std::span<char> bytes);

}  // namespace attnscope::store
