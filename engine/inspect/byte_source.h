#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Bytes of a file, or of memory, read where they are needed. A file is read and not mapped: one
// that another program cuts short while it is open ends in a sentence, where a mapping would end
// the process.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/result.h"

namespace attnscope {

class ByteSource {
 public:
  [[nodiscard]] static Result<ByteSource> open(const std::filesystem::path& path);
  /// `name` is what messages call the bytes.
  [[nodiscard]] static ByteSource of(std::vector<std::byte> bytes, std::string name);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::int64_t size() const { return size_; }
  /// Fills `bytes` from `offset` on; may be called from several threads at once.
  [[nodiscard]] Status read(std::int64_t offset, std::span<std::byte> bytes) const;

 private:
  class Descriptor;
  std::string name_;
  std::int64_t size_ = 0;
  std::shared_ptr<const Descriptor> file_;  // null: the bytes lie in memory
  std::vector<std::byte> memory_;
};

}  // namespace attnscope
