#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A regular file that is open to be read, or mapped, for as long as this lives.
//
// What begins as an SQLite database stays open until the process ends: it may be one that is in use
// here, and a process that closes any descriptor of a file loses all its locks on it, those of
// SQLite's connections too (https://www.sqlite.org/howtocorrupt.html, 2.2). So whatever reads a
// file that a person named reads it by this.

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>

#include "kernels/base/result.h"

namespace attnscope {

/// Device and number of what has this name, of a link itself where it is one: another name of the
/// same file has the same. Zeros where there is none.
using FileId = std::pair<std::uint64_t, std::uint64_t>;
[[nodiscard]] FileId file_id(const std::filesystem::path& path);

/// Whether there is something of this name, for a file that need not be there. A link that leads
/// nowhere is an error: such a file is lost, not left out.
[[nodiscard]] Result<bool> is_present(const std::filesystem::path& path);

/// How every SQLite database begins (https://www.sqlite.org/fileformat2.html#magic_header_string).
inline constexpr std::string_view database_mark{"SQLite format 3\0", 16};

class OpenFile {
 public:
  /// A pipe, a device or a directory in its place is answered at once, not waited for.
  [[nodiscard]] static Result<OpenFile> to_read(const std::filesystem::path& path);

  OpenFile(OpenFile&& other) noexcept
      : number_(std::exchange(other.number_, -1)),
        size_(other.size_),
        is_database_(other.is_database_) {}
  OpenFile& operator=(OpenFile&&) = delete;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile();

  [[nodiscard]] int number() const { return number_; }
  /// In bytes, when it was opened.
  [[nodiscard]] std::int64_t size() const { return size_; }
  /// Whether it begins as an SQLite database does.
  [[nodiscard]] bool is_database() const { return is_database_; }

 private:
  explicit OpenFile(int number) : number_(number) {}

  int number_;
  std::int64_t size_ = 0;
  bool is_database_ = false;
};

}  // namespace attnscope
