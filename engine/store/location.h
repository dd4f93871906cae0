#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Path and format of a database, checked without SQLite, which would already write to the file.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "base/result.h"

namespace attnscope::store {

/// The version of schema.sql; raise it with every change of the schema, also for a new axis. Files
/// of converted_version are converted when they are opened, files of other versions are refused.
inline constexpr int schema_version = 9;
inline constexpr int converted_version = 8;
inline constexpr int application_id = 0x41745363;  // "AtSc"

// https://www.sqlite.org/fileformat2.html#the_database_header
inline constexpr std::size_t header_bytes = 100;

/// Contents of the file's first 100 bytes.
struct FileHeader {
  bool empty = false;   // an empty file, which is to be filled
  bool packed = false;  // compressed by gzip; nothing else is known
  int user_version = 0;
};

/// An error unless the file is empty, packed, or an AttnScope database of a supported version.
[[nodiscard]] Result<FileHeader> inspect(const std::filesystem::path& file);
/// The same for a file's first bytes; `file` is its name in messages.
[[nodiscard]] Result<FileHeader> read_header(std::span<const char> start,
                                             const std::filesystem::path& file);

/// Whether there is a rollback journal: a change is in progress, or its writer ended during one.
[[nodiscard]] bool has_journal(const std::filesystem::path& file);

/// The error for an unknown version.
[[nodiscard]] tl::unexpected<Error> refuse_version(const std::filesystem::path& file, int version);

/// Whether statfs's f_type belongs to a file system whose locks are slow and not reliable enough
/// for several writers.
[[nodiscard]] bool is_network_file_system(std::int64_t type);
[[nodiscard]] bool is_on_network(const std::filesystem::path& file);

/// Whether the name is that of an exported file: .attn or .attn.gz.
[[nodiscard]] bool is_exported(const std::filesystem::path& file);

}  // namespace attnscope::store
