#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where a database lies and whether it is ours, found out without SQLite, which would already
// write.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "kernels/base/result.h"

namespace attnscope::store {

// https://www.sqlite.org/fileformat2.html#the_database_header
inline constexpr std::size_t header_bytes = 100;

/// What the file's first 100 bytes say.
struct FileHeader {
  bool empty = false;   // nothing in it yet: to be filled
  bool packed = false;  // by gzip, and no more is known
  int user_version = 0;
  bool has_log = false;  // it says that its newest pages are in a write-ahead log, if there is one
};

/// An error unless the file is empty, packed, or an AttnScope database of a version this program
/// knows.
[[nodiscard]] Result<FileHeader> inspect(const std::filesystem::path& file);
/// The same of its first bytes; `file` is what messages name.
[[nodiscard]] Result<FileHeader> read_header(std::span<const char> start,
                                             const std::filesystem::path& file);

/// The file of this name that SQLite keeps beside the database: "-journal".
[[nodiscard]] std::filesystem::path beside(std::filesystem::path database, const char* ending);

/// A rollback journal beside the file: a change is being made, or its writer ended within it.
[[nodiscard]] bool has_journal(const std::filesystem::path& file);

/// A write-ahead log beside the file, empty or not; and one in which there is something.
[[nodiscard]] bool has_log(const std::filesystem::path& file);
[[nodiscard]] bool has_filled_log(const std::filesystem::path& file);

/// The refusal of a version that this program cannot read.
[[nodiscard]] tl::unexpected<Error> refuse_version(const std::filesystem::path& file, int version);

/// Whether statfs's f_type is of a file system whose shared memory and locks WAL cannot rely on.
[[nodiscard]] bool is_network_file_system(std::int64_t type);
[[nodiscard]] bool is_on_network(const std::filesystem::path& file);

/// An exported file, by its name: .attn or .attn.gz.
[[nodiscard]] bool is_exported(const std::filesystem::path& file);

}  // namespace attnscope::store
