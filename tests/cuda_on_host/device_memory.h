#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The memory of the emulated GPU: named allocations surrounded by red zones. Each byte is poisoned
// (all ones: NaN as a number, -1 as an index) and counts as unwritten until it is written.
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

/// Aligned to exactly 256 bytes, the alignment that cudaMalloc guarantees.
[[nodiscard]] std::byte* allocate(const std::string& name, std::int64_t bytes);
void release(std::byte* memory);

/// Marks bytes as written by the host (a memset or a copy on the stream).
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
    if (values.empty()) return;  // memcpy requires a valid pointer even for 0 bytes
    std::memcpy(data() + first, values.data(), values.size_bytes());
    set_by_host(data() + first, static_cast<std::int64_t>(values.size_bytes()));
  }

  [[nodiscard]] T* data() const { return reinterpret_cast<T*>(memory_); }
  [[nodiscard]] std::byte* bytes() const { return memory_; }
  [[nodiscard]] std::int64_t size() const { return count_; }
  [[nodiscard]] std::vector<T> values() const { return {data(), data() + count_}; }
  /// Whether all of it was written, by the host or by kernels.
  [[nodiscard]] bool written() const {
    return is_written(memory_, count_ * static_cast<std::int64_t>(sizeof(T)));
  }

 private:
  std::int64_t count_ = 0;
  std::byte* memory_ = nullptr;
};

}  // namespace attnscope::on_host
