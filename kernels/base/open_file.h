#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A regular file that is open to be read, or mapped, for as long as this lives.

#include <cstdint>
#include <filesystem>
#include <utility>

#include "kernels/base/result.h"

namespace attnscope {

class OpenFile {
 public:
  /// A pipe, a device or a directory in its place is answered at once, not waited for.
  [[nodiscard]] static Result<OpenFile> to_read(const std::filesystem::path& path);

  OpenFile(OpenFile&& other) noexcept
      : number_(std::exchange(other.number_, -1)), size_(other.size_) {}
  OpenFile& operator=(OpenFile&&) = delete;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile();

  [[nodiscard]] int number() const { return number_; }
  /// In bytes, when it was opened.
  [[nodiscard]] std::int64_t size() const { return size_; }

 private:
  explicit OpenFile(int number) : number_(number) {}

  int number_;
  std::int64_t size_ = 0;
};

}  // namespace attnscope
