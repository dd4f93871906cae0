// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/open_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>

#include "kernels/base/sentences.h"

namespace attnscope {
namespace {

using FileId = std::pair<dev_t, ino_t>;

/// The descriptors of databases that were read here, one a file.
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
  constexpr std::string_view words = "SQLite format 3";
  std::array<char, words.size()> start{};
  return ::pread(number, start.data(), start.size(), 0) == static_cast<ssize_t>(start.size()) &&
         std::string_view(start.data(), start.size()) == words;
}

}  // namespace

OpenFile::~OpenFile() {
  if (number_ >= 0 && !is_database_) ::close(number_);
}

Result<OpenFile> OpenFile::to_read(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) {
    if (const auto number = kept_databases().number_of({info.st_dev, info.st_ino})) {
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
  if (file.is_database_) kept_databases().keep({info.st_dev, info.st_ino}, file.number_);
  return file;
}

}  // namespace attnscope
