#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Memory handed to an implementation under test: poisoned with NaN, between two guard zones.
//
//   GuardedBuffer workspace(bytes);
//   ... forward(... workspace.bytes()) ...
//   if (!workspace.guards_are_whole()) report("wrote outside its workspace");

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

namespace attnscope {

class GuardedBuffer {
 public:
  /// `bytes` bytes, starting at a multiple of 64.
  explicit GuardedBuffer(std::int64_t bytes)
      : size_(static_cast<std::size_t>(bytes)),
        memory_(static_cast<std::byte*>(
            ::operator new(size_ + 2 * guard_bytes, std::align_val_t(alignment)))) {
    std::fill_n(memory_, size_ + 2 * guard_bytes, guard_value);
    poison();
  }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  ~GuardedBuffer() { ::operator delete(memory_, std::align_val_t(alignment)); }

  [[nodiscard]] std::span<std::byte> bytes() { return {memory_ + guard_bytes, size_}; }
  /// The guard zones, too; bytes() begin `guard_bytes` after their start.
  [[nodiscard]] std::span<std::byte> whole() { return {memory_, size_ + 2 * guard_bytes}; }
  static constexpr std::size_t guard_bytes = 1024;  // a row of 128 floats, twice
  [[nodiscard]] std::span<float> floats() {
    return {reinterpret_cast<float*>(memory_ + guard_bytes), size_ / sizeof(float)};
  }
  /// All bits set is NaN in float32, float16 and bfloat16.
  void poison() { std::ranges::fill(bytes(), std::byte{0xFF}); }

  [[nodiscard]] bool guards_are_whole() const {
    const auto whole = [](std::byte value) { return value == guard_value; };
    return std::all_of(memory_, memory_ + guard_bytes, whole) &&
           std::all_of(memory_ + guard_bytes + size_, memory_ + size_ + 2 * guard_bytes, whole);
  }

 private:
  static constexpr std::size_t alignment = 64;
  static constexpr std::byte guard_value{0xA5};
  std::size_t size_;
  std::byte* memory_;
};

}  // namespace attnscope
