// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <sys/mman.h>

#include <cerrno>

#include "base/open_file.h"
#include "base/sentences.h"

namespace attnscope {

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

}  // namespace attnscope
