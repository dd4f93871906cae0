// SPDX-License-Identifier: Apache-2.0
#include "engine/store/unfinished_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/sentences.h"
#include "base/written_file.h"
#include "engine/store/location.h"

namespace attnscope::store {
namespace {

Status sync_folder_of(const std::filesystem::path& file) {
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return {};  // a writable folder may be unreadable; the file is safe
  ::fsync(descriptor);
  ::close(descriptor);
  return {};
}

}  // namespace

tl::unexpected<Error> refuse_existing(const std::filesystem::path& file) {
  return fail("{} is there already and is not overwritten; remove it or name another file",
              file.string());
}

// On network file systems both kinds of locks are the same, and SQLite would wait for this one.
UnfinishedFile::UnfinishedFile(std::filesystem::path name) : name_(std::move(name)) {
  PartFile part = begin_part(name_, is_on_network(name_) ? PartLock::none : PartLock::held);
  path_ = std::move(part.name);
  number_ = part.number;
}

UnfinishedFile::~UnfinishedFile() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
  std::filesystem::path journal = path_;
  journal += "-journal";
  std::filesystem::remove(journal, ignored);
  let_go();
}

// Called as soon as the file has its name: closing it later would drop SQLite's locks on it.
void UnfinishedFile::let_go() {
  if (number_ >= 0) ::close(std::exchange(number_, -1));
}

Status UnfinishedFile::publish() {
  const bool named =
      ::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, name_.c_str(), RENAME_NOREPLACE) == 0;
  if (!named && errno == EEXIST) return refuse_existing(name_);
  // Some file systems do not support the flag; a hard link does not replace a file either.
  if (!named && ::link(path_.c_str(), name_.c_str()) != 0) {
    if (errno == EEXIST) return refuse_existing(name_);
    return fail("{} cannot be written ({}); name a file elsewhere", name_.string(),
                system_reason(errno));
  }
  if (!named) ::unlink(path_.c_str());
  let_go();
  return sync_folder_of(name_);
}

}  // namespace attnscope::store
