#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Memory that another process of this machine can map as well: an unnamed file in memory for each
// block. What is found by an address is told to the other side as a path, and as bytes from the
// block's begin on.
//
//   void* data = map_shared(bytes);
//   SharedPlace at = *shared_place(data, bytes);   // .file() is "/proc/4711/fd/9"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace attnscope {

/// Page-aligned, zeros; nullptr where the system refuses. Thread-safe, as the others.
[[nodiscard]] void* map_shared(std::size_t bytes);
/// Its pages are free at once, also where another process has it mapped still. False when the
/// address is not the begin of such a block.
bool unmap_shared(void* data) noexcept;

struct SharedPlace {
  std::int64_t block = 0;   // no two ever have the same number
  int descriptor = -1;      // of its file, in this process
  std::int64_t offset = 0;  // bytes
  /// By which another process opens it, as long as the block is there.
  [[nodiscard]] std::string file() const;
  friend bool operator==(const SharedPlace&, const SharedPlace&) = default;
};

/// Where these bytes lie; absent when not all of them lie in one block.
[[nodiscard]] std::optional<SharedPlace> shared_place(const void* data, std::size_t bytes);

/// A block of one's own, in the size that was asked for last; goes with its owner.
class SharedStage {
 public:
  SharedStage() = default;
  SharedStage(const SharedStage&) = delete;
  SharedStage& operator=(const SharedStage&) = delete;
  ~SharedStage() { unmap_shared(data_); }
  /// nullptr where the system refuses.
  [[nodiscard]] std::byte* of(std::size_t bytes) {
    if (bytes_ != bytes) {
      unmap_shared(data_);
      data_ = map_shared(bytes);
      bytes_ = data_ != nullptr ? bytes : 0;
    }
    return static_cast<std::byte*>(data_);
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace attnscope
