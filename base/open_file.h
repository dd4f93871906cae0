#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A regular file that is open for reading, mapped into memory while an object exists, or read as
// text.
//
//   Result<MappedFile> file = MappedFile::open("model.safetensors");
//   file->bytes().size();
//   Result<std::string> json = read_text_file("my/pattern.json", "pattern file", 1 << 20);
//
// A file that begins like an SQLite database stays open until the process ends: it may be a
// database in use by this process, and a process that closes any descriptor of a file loses all its
// locks on it, including those of SQLite's connections (https://www.sqlite.org/howtocorrupt.html,
// 2.2). Code that reads a file named by the user must therefore use these classes.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace attnscope {

/// Device and inode number of a path, for a link those of the link itself: two names of the same
/// file have equal values. Zeros if nothing exists there.
using FileId = std::pair<std::uint64_t, std::uint64_t>;
[[nodiscard]] FileId file_id(const std::filesystem::path& path);

/// Whether an optional file exists. A dangling link is an error: such a file is lost, not omitted.
[[nodiscard]] Result<bool> is_present(const std::filesystem::path& path);

/// The first bytes of every SQLite database
/// (https://www.sqlite.org/fileformat2.html#magic_header_string).
inline constexpr std::string_view database_mark{"SQLite format 3\0", 16};

class OpenFile {
 public:
  /// A pipe, a device or a directory is rejected at once, without waiting.
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
  /// Size in bytes when it was opened.
  [[nodiscard]] std::int64_t size() const { return size_; }
  /// Whether it begins like an SQLite database.
  [[nodiscard]] bool is_database() const { return is_database_; }

 private:
  explicit OpenFile(int number) : number_(number) {}

  int number_;
  std::int64_t size_ = 0;
  bool is_database_ = false;
};

/// The bytes of a file, mapped for reading.
class MappedFile {
 public:
  [[nodiscard]] static Result<MappedFile> open(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept
      : name_(std::move(other.name_)), bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&&) = delete;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  MappedFile() = default;

  std::string name_;
  std::span<const std::byte> bytes_;
};

enum class ByteOrderMark : std::uint8_t { left_out, kept };

/// A user's file as text. Pipes and devices, which may never end, and files far larger than any of
/// their kind are rejected. `kind` is the name of the file type in messages.
[[nodiscard]] Result<std::string> read_text_file(const std::filesystem::path& path,
                                                 std::string_view kind, std::uintmax_t most_bytes,
                                                 ByteOrderMark mark = ByteOrderMark::left_out);

}  // namespace attnscope
