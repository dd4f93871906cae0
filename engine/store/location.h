#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A database's file: its path and format, checked without SQLite, which would already write to it;
// access through SQLite's own file system; and a file that gets its name only when it is complete.

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace attnscope::store {

/// The version of schema.sql; raise it with every change of the schema, also for a new axis. Files
/// from oldest_version on are converted when they are opened, files of other versions are refused.
inline constexpr int schema_version = 10;
inline constexpr int oldest_version = 8;
[[nodiscard]] constexpr bool is_readable(int version) {
  return version >= oldest_version && version <= schema_version;
}
[[nodiscard]] constexpr bool is_older(int version) {
  return is_readable(version) && version < schema_version;
}
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

/// A file opened through one of SQLite's own file systems, closed at the end of its scope.
class VfsFile {
 public:
  /// `access`: SQLITE_OPEN_READONLY, or SQLITE_OPEN_READWRITE with SQLITE_OPEN_CREATE.
  VfsFile(sqlite3_vfs& system, const std::string& path, int access);
  VfsFile(const VfsFile&) = delete;
  VfsFile& operator=(const VfsFile&) = delete;
  ~VfsFile();

  [[nodiscard]] bool is_open() const { return is_open_; }
  /// Size in bytes; -1 if it cannot be determined.
  [[nodiscard]] sqlite3_int64 size();
  [[nodiscard]] bool read(char* bytes, std::size_t count, sqlite3_int64 at);
  [[nodiscard]] bool write(const char* bytes, std::size_t count, sqlite3_int64 at);

 private:
  struct FreeName {
    void operator()(const char* name) const { sqlite3_free_filename(name); }
  };
  std::unique_ptr<const char, FreeName> name_;
  std::vector<std::max_align_t> room_;
  sqlite3_file* file_;
  bool is_open_;
};

/// A file that receives its name only when it is complete. Until then it has a temporary name in
/// the same folder, is empty at first and accessible only to its owner. An unpublished file is
/// removed; if its process was killed, the next command that creates the file removes it.
class UnfinishedFile {
 public:
  /// Failures to create it are ignored here: the code that writes the file meets and reports them.
  explicit UnfinishedFile(std::filesystem::path name);
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

  /// The path to write to.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Renames the file to its name; never overwrites another file.
  [[nodiscard]] Status publish();

 private:
  void release_lock();
  std::filesystem::path name_, path_;
  int number_ = -1;  // the descriptor that holds its lock
};

[[nodiscard]] tl::unexpected<Error> refuse_existing(const std::filesystem::path& file);

}  // namespace attnscope::store
