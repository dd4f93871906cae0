// SPDX-License-Identifier: Apache-2.0
#include "engine/inspect/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace attnscope {
namespace {

std::string reason(int error) {
  return std::generic_category().message(error);
}

}  // namespace

class ByteSource::Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

Result<ByteSource> ByteSource::open(const std::filesystem::path& path) {
  ByteSource source;
  source.name_ = path.string();
  // Non-blocking, so that a pipe in place of a file is answered and not waited for.
  source.file_ =
      std::make_shared<const Descriptor>(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (source.file_->get() < 0) {
    return fail("{}: cannot be opened: {}", source.name_, reason(errno));
  }
  struct stat info {};
  if (::fstat(source.file_->get(), &info) != 0) {
    return fail("{}: cannot be read: {}", source.name_, reason(errno));
  }
  if (!S_ISREG(info.st_mode)) return fail("{}: is not a file", source.name_);
  source.size_ = info.st_size;
  return source;
}

ByteSource ByteSource::of(std::vector<std::byte> bytes, std::string name) {
  ByteSource source;
  source.name_ = std::move(name);
  source.size_ = static_cast<std::int64_t>(bytes.size());
  source.memory_ = std::move(bytes);
  return source;
}

Status ByteSource::read(std::int64_t offset, std::span<std::byte> bytes) const {
  const auto wanted = static_cast<std::int64_t>(bytes.size());
  if (offset < 0 || wanted > size_ || offset > size_ - wanted) {
    return fail("{}: ends before byte {}", name_, offset + wanted);
  }
  if (file_ == nullptr) {
    std::copy_n(memory_.begin() + offset, wanted, bytes.begin());
    return {};
  }
  while (!bytes.empty()) {
    const ssize_t got = ::pread(file_->get(), bytes.data(), bytes.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail("{}: cannot be read: {}", name_, reason(errno));
    if (got == 0) {
      return fail("{}: was cut short since it was opened; open it again", name_);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    offset += got;
  }
  return {};
}

}  // namespace attnscope
