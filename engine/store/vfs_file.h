#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A file opened through one of SQLite's own file systems, closed at the end of its scope.

#include <sqlite3.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace attnscope::store {

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

}  // namespace attnscope::store
