// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/open_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "kernels/base/sentences.h"

namespace attnscope {

OpenFile::~OpenFile() {
  if (number_ >= 0) ::close(number_);
}

Result<OpenFile> OpenFile::to_read(const std::filesystem::path& path) {
  OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number_ < 0)
    return fail("{}: cannot be opened: {}", path.string(), system_reason(errno));
  struct stat info {};
  if (::fstat(file.number_, &info) != 0) {
    return fail("{}: cannot be read: {}", path.string(), system_reason(errno));
  }
  if (S_ISDIR(info.st_mode)) return fail("{}: is a directory, not a file", path.string());
  if (!S_ISREG(info.st_mode)) return fail("{}: is not a regular file", path.string());
  file.size_ = info.st_size;
  return file;
}

}  // namespace attnscope
