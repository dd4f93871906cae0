#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Device memory for tests on a GPU and in the emulation on the host. It has exactly the requested
// size, so that tools which check accesses detect the first byte beyond it.
//
//   DeviceTensor o("o", shape, DeviceTensor::Content::unwritten);
//   ... kernels that write o.tensor(), queued on the default stream ...
//   Packed packed = o.read_back();

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/kernels/packed.h"

namespace attnscope::testing {

/// The reason why there is no usable device, or nullopt.
[[nodiscard]] std::optional<std::string> no_device();

/// Seeds the order of blocks and lanes of later launches, if the device supports it.
void set_order(int seed);

/// Bytes [begin, end) of a memory.
struct ByteRange {
  std::int64_t begin, end;
};

class DeviceMemory {
 public:
  /// Unwritten memory.
  DeviceMemory(const std::string& name, std::int64_t bytes);
  DeviceMemory(const std::string& name, std::span<const std::byte> values);

  [[nodiscard]] std::byte* data() const;
  [[nodiscard]] float* floats() const { return reinterpret_cast<float*>(data()); }
  [[nodiscard]] std::int64_t bytes() const;
  /// Copies `values` to the beginning of the memory.
  void set(std::span<const std::byte> values);
  /// Copies `values`, which are as long as the memory. Only the ranges then count as written, if
  /// writes are tracked.
  void set(std::span<const std::byte> values, std::span<const ByteRange> written);
  /// Sets all bits to ones, so that numbers are NaN. The bytes do not count as written.
  void poison();
  /// Whether all of these bytes were written; true if writes are not tracked.
  [[nodiscard]] bool is_written(std::int64_t at, std::int64_t bytes) const;
  /// Waits for queued work; throws its errors.
  [[nodiscard]] std::vector<std::byte> read() const;
  /// The same, with a test failure if a number is unwritten.
  [[nodiscard]] std::vector<float> read_floats() const;

 private:
  struct Memory;
  std::string name_;
  std::shared_ptr<Memory> memory_;
};

/// A packed tensor in device memory; the gaps between its rows are unwritten.
class DeviceTensor {
 public:
  enum class Content { given, unwritten };

  /// The tensor has the shape of `packed`, and its numbers if `content` is given.
  DeviceTensor(const std::string& name, const Packed& packed, Content content);

  [[nodiscard]] Tensor tensor() const;
  [[nodiscard]] ConstTensor view() const { return attnscope::as_const(tensor()); }
  /// A copy. Test failures report unwritten numbers and writes between the rows.
  [[nodiscard]] Packed read_back() const;

 private:
  std::string name_;
  Packed shape_;
  DeviceMemory memory_;
};

}  // namespace attnscope::testing
