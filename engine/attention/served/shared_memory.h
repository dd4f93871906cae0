#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Memory that another process of this machine can map as well: an unnamed file in memory for each
// block. An address is passed to the other process as a path and an offset in bytes from the start
// of the block.
//
//   void* data = map_shared(bytes);
//   SharedPlace at = *shared_place(data, bytes);   // .file() is "/proc/4711/fd/9"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace attnscope {

/// Page-aligned and zero-filled; nullptr if the system refuses. Thread-safe, like the other
/// functions.
[[nodiscard]] void* map_shared(std::size_t bytes);
/// Frees its pages at once, even if another process still has it mapped. Returns false if the
/// address is not the start of such a block.
bool unmap_shared(void* data) noexcept;

struct SharedPlace {
  std::int64_t block = 0;   // unique for every block
  int descriptor = -1;      // of its file, in this process
  std::int64_t offset = 0;  // bytes
  /// The path by which another process opens it while the block exists.
  [[nodiscard]] std::string file() const;
  friend bool operator==(const SharedPlace&, const SharedPlace&) = default;
};

/// The location of these bytes; absent if they are not all in one block.
[[nodiscard]] std::optional<SharedPlace> shared_place(const void* data, std::size_t bytes);

/// A block of the size requested last, owned by this object.
class SharedStage {
 public:
  SharedStage() = default;
  SharedStage(const SharedStage&) = delete;
  SharedStage& operator=(const SharedStage&) = delete;
  ~SharedStage() { unmap_shared(data_); }
  /// nullptr if the system refuses.
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
