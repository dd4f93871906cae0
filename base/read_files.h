#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The register of the files that this process reads for the user. No writer replaces them
// (written_file.h) under any name: a path, a link or a hard link.
//
//   note_read("pairs.tsv");
//   Status allowed = may_be_written("pairs.tsv");  // an error

#include <cstdint>
#include <filesystem>

#include "base/result.h"

namespace attnscope {

/// Registers a path, which need not exist: a file created there later counts as read, too.
void note_read(const std::filesystem::path& file);
/// Registers a descriptor that is a regular file, such as redirected standard input.
void note_read(int descriptor);

[[nodiscard]] bool is_read(const std::filesystem::path& file);
/// Compares only device and inode number; false for anything but a regular file.
[[nodiscard]] bool is_read(int descriptor);

/// A checksum of all bytes of a file (RunningSum): different contents have different checksums.
[[nodiscard]] Result<std::uint64_t> fingerprint_of_file(const std::filesystem::path& file);

}  // namespace attnscope
