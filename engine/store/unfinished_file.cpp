// SPDX-License-Identifier: Apache-2.0
#include "engine/store/unfinished_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "engine/store/implementation.h"
#include "kernels/base/sentences.h"

namespace attnscope::store {
namespace {

Status sync_folder_of(const std::filesystem::path& file) {
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return {};  // the folder may be written but not read; the file itself is safe
  ::fsync(descriptor);
  ::close(descriptor);
  return {};
}

}  // namespace

tl::unexpected<Error> refuse_existing(const std::filesystem::path& file) {
  return fail("{} is there already and is not overwritten; remove it or name another file",
              file.string());
}

UnfinishedFile::UnfinishedFile(std::filesystem::path name) : name_(std::move(name)), path_(name_) {
  path_ += fmt::format(".{}.part", new_uuid());
  const int made = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (made >= 0) ::close(made);
}

UnfinishedFile::~UnfinishedFile() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
  std::filesystem::path journal = path_;
  journal += "-journal";
  std::filesystem::remove(journal, ignored);
}

Status UnfinishedFile::publish() const {
  if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, name_.c_str(), RENAME_NOREPLACE) == 0) {
    return sync_folder_of(name_);
  }
  if (errno == EEXIST) return refuse_existing(name_);
  // Some file systems do not know the flag; a hard link does not replace either.
  if (::link(path_.c_str(), name_.c_str()) == 0) {
    ::unlink(path_.c_str());
    return sync_folder_of(name_);
  }
  if (errno == EEXIST) return refuse_existing(name_);
  return fail("{} cannot be written ({}); name a file elsewhere", name_.string(),
              system_reason(errno));
}

}  // namespace attnscope::store
