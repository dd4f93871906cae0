#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a file, mapped for reading while this object exists.
//
//   Result<MappedFile> file = MappedFile::open("model.safetensors");
//   file->bytes().size();

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"

namespace attnscope {

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

}  // namespace attnscope
