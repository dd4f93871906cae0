#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What stands for a GPU's memory: named allocations with red zones about them, each byte poisoned
// (all ones: NaN as a number, -1 as an index) and remembered as unwritten until it is.
//
//   DeviceArray<float> lse("lse", tokens * heads);
//   DeviceArray<std::byte> list("list", work.list());
//   ... segment_forward(work, {list.data(), ...}, ..., lse.data(), nullptr) ...
//   std::vector<float> values = lse.values();

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace attnscope::on_host {

inline constexpr int poison = 0xff;

/// Aligned to 256 bytes and no more, as cudaMalloc's may be.
[[nodiscard]] std::byte* allocate(const std::string& name, std::int64_t bytes);
void release(std::byte* memory);

/// Bytes were given values by the host (a memset or a copy on the stream).
void set_by_host(const void* memory, std::int64_t bytes);
[[nodiscard]] bool is_written(const void* memory, std::int64_t bytes);

template <typename T>
class DeviceArray {
 public:
  DeviceArray(const std::string& name, std::int64_t count)
      : count_(count), memory_(allocate(name, count * static_cast<std::int64_t>(sizeof(T)))) {}
  DeviceArray(const std::string& name, std::span<const T> values)
      : DeviceArray(name, static_cast<std::int64_t>(values.size())) {
    set(values);
  }
  ~DeviceArray() {
    if (memory_ != nullptr) release(memory_);
  }
  DeviceArray(DeviceArray&& other) noexcept
      : count_(other.count_), memory_(std::exchange(other.memory_, nullptr)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(count_, other.count_);
    std::swap(memory_, other.memory_);
    return *this;
  }

  void set(std::span<const T> values, std::int64_t first = 0) {
    if (values.empty()) return;  // memcpy takes no null pointer, not even for nothing
    std::memcpy(data() + first, values.data(), values.size_bytes());
    set_by_host(data() + first, static_cast<std::int64_t>(values.size_bytes()));
  }

  [[nodiscard]] T* data() const { return reinterpret_cast<T*>(memory_); }
  [[nodiscard]] std::byte* bytes() const { return memory_; }
  [[nodiscard]] std::int64_t size() const { return count_; }
  [[nodiscard]] std::vector<T> values() const { return {data(), data() + count_}; }
  /// All of it, by the host or by kernels.
  [[nodiscard]] bool written() const {
    return is_written(memory_, count_ * static_cast<std::int64_t>(sizeof(T)));
  }

 private:
  std::int64_t count_ = 0;
  std::byte* memory_ = nullptr;
};

}  // namespace attnscope::on_host
