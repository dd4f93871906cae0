#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The register of what this process reads for a person. No writer replaces it (written_file.h), by
// whatever name: a path, a link or a hard link.
//
//   note_read("pairs.tsv");
//   Status allowed = may_be_written("pairs.tsv");  // an error

#include <cstdint>
#include <filesystem>

#include "kernels/base/result.h"

namespace attnscope {

/// A path that need not be there: what comes to be there counts as read, too.
void note_read(const std::filesystem::path& file);
/// Of a descriptor that is a regular file: standard input that comes from one.
void note_read(int descriptor);

[[nodiscard]] bool is_read(const std::filesystem::path& file);
/// By device and number alone; false of what is no regular file.
[[nodiscard]] bool is_read(int descriptor);

/// A checksum of all bytes of a file (RunningSum): other contents have another one.
[[nodiscard]] Result<std::uint64_t> fingerprint_of_file(const std::filesystem::path& file);

}  // namespace attnscope
