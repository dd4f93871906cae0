// SPDX-License-Identifier: Apache-2.0
#include "base/open_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>

#include "base/sentences.h"

namespace attnscope {
namespace {

FileId id_of(const struct stat& info) {
  return {info.st_dev, info.st_ino};
}

/// The descriptors of databases that this process has read, one per file.
class KeptDatabases {
 public:
  std::optional<int> number_of(FileId file) {
    const std::lock_guard lock(mutex_);
    const auto found = numbers_.find(file);
    return found == numbers_.end() ? std::nullopt : std::optional(found->second);
  }
  void keep(FileId file, int number) {
    const std::lock_guard lock(mutex_);
    numbers_.emplace(file, number);
  }

 private:
  std::mutex mutex_;
  std::map<FileId, int> numbers_;
};

KeptDatabases& kept_databases() {
  static KeptDatabases kept;
  return kept;
}

bool begins_as_database(int number) {
  std::array<char, database_mark.size()> start{};
  return ::pread(number, start.data(), start.size(), 0) == static_cast<ssize_t>(start.size()) &&
         std::string_view(start.data(), start.size()) == database_mark;
}

}  // namespace

FileId file_id(const std::filesystem::path& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 ? id_of(info) : FileId{};
}

Result<bool> is_present(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  constexpr std::size_t longest_path = 400;
  const std::string name = in_a_sentence(path.string(), longest_path);
  std::error_code error;
  const fs::file_status itself = fs::symlink_status(path, error);
  if (itself.type() == fs::file_type::not_found) return false;
  if (!fs::status_known(itself)) return fail("'{}' cannot be read: {}", name, error.message());
  const fs::file_status file = fs::status(path, error);
  if (file.type() == fs::file_type::not_found) {
    const fs::path target = fs::read_symlink(path, error);
    return fail(
        "'{}' is a link to '{}', which does not exist; copy the file there or remove the link",
        name, in_a_sentence(target.string(), longest_path));
  }
  if (!fs::status_known(file)) return fail("'{}' cannot be read: {}", name, error.message());
  return true;
}

OpenFile::~OpenFile() {
  if (number_ >= 0 && !is_database_) ::close(number_);
}

Result<OpenFile> OpenFile::to_read(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) {
    if (const auto number = kept_databases().number_of(id_of(info))) {
      OpenFile kept(*number);
      kept.size_ = info.st_size;
      kept.is_database_ = true;
      return kept;
    }
  }
  OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number_ < 0)
    return fail("{}: cannot be opened: {}", path.string(), system_reason(errno));
  if (::fstat(file.number_, &info) != 0) {
    return fail("{}: cannot be read: {}", path.string(), system_reason(errno));
  }
  if (S_ISDIR(info.st_mode)) return fail("{}: is a directory, not a file", path.string());
  if (!S_ISREG(info.st_mode)) return fail("{}: is not a regular file", path.string());
  file.size_ = info.st_size;
  file.is_database_ = begins_as_database(file.number_);
  if (file.is_database_) kept_databases().keep(id_of(info), file.number_);
  return file;
}

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  MappedFile file;
  file.name_ = path.string();
  const auto opened = OpenFile::to_read(path);
  if (!opened) return tl::unexpected(opened.error());
  const auto size = static_cast<std::size_t>(opened->size());
  if (size == 0) return file;
  void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, opened->number(), 0);
  if (mapped == MAP_FAILED)
    return fail("{}: cannot be mapped: {}", file.name_, system_reason(errno));
  file.bytes_ = {static_cast<const std::byte*>(mapped), size};
  return file;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

namespace {

/// A file may grow while it is read; bytes beyond `most_bytes` are ignored.
bool read_all(int file, std::uintmax_t most_bytes, std::string& text) {
  constexpr std::size_t step = 65536;
  std::array<char, step> bytes{};
  while (text.size() <= most_bytes) {
    const ssize_t count =
        ::pread(file, bytes.data(), bytes.size(), static_cast<off_t>(text.size()));
    if (count <= 0) return count == 0;
    text.append(bytes.data(), static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

Result<std::string> read_text_file(const std::filesystem::path& path, std::string_view kind,
                                   std::uintmax_t most_bytes, ByteOrderMark mark) {
  constexpr std::size_t longest_path = 400;
  const std::string name = in_a_sentence(path.string(), longest_path);
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return fail("there is no {} '{}'; check the path", kind, name);
  }
  if (!std::filesystem::status_known(status)) {
    return fail("the {} '{}' cannot be read: {}", kind, name, error.message());
  }
  if (!std::filesystem::is_regular_file(status)) {
    return fail("'{}' is not a file; give the path of a {}", name, kind);
  }
  if (const std::uintmax_t size = std::filesystem::file_size(path, error); size > most_bytes) {
    return fail("'{}' is larger than {} bytes and so no {}; check the path", name, most_bytes,
                kind);
  }
  std::string text;
  const auto file = OpenFile::to_read(path);
  if (!file || !read_all(file->number(), most_bytes, text)) {
    return fail("the {} '{}' cannot be read; is it a readable file?", kind, name);
  }
  // Editors on Windows begin a file with a byte-order mark, which has no meaning.
  if (mark == ByteOrderMark::left_out && text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  return text;
}

}  // namespace attnscope
