#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Device memory for tests that run on a GPU, and under the emulation on the host: of exactly the
// size asked for, so that whatever watches accesses sees the first byte beyond.
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

/// Why there is no device to run on, or nothing.
[[nodiscard]] std::optional<std::string> no_device();

/// Draws the order of blocks and lanes of the launches to come, where that can be chosen.
void set_order(int seed);

/// Bytes [begin, end) of a memory.
struct ByteRange {
  std::int64_t begin, end;
};

class DeviceMemory {
 public:
  /// Nothing has written it.
  DeviceMemory(const std::string& name, std::int64_t bytes);
  DeviceMemory(const std::string& name, std::span<const std::byte> values);

  [[nodiscard]] std::byte* data() const;
  [[nodiscard]] float* floats() const { return reinterpret_cast<float*>(data()); }
  [[nodiscard]] std::int64_t bytes() const;
  /// Copies `values` to the memory's beginning.
  void set(std::span<const std::byte> values);
  /// Copies `values`, as long as the memory, in one piece; only these ranges then count as written,
  /// where that is remembered.
  void set(std::span<const std::byte> values, std::span<const ByteRange> written);
  /// Sets all bytes to ones, the numbers to NaN, without having written them as far as that is
  /// remembered.
  void poison();
  /// Whether somebody wrote all of these bytes; true where it is not remembered.
  [[nodiscard]] bool is_written(std::int64_t at, std::int64_t bytes) const;
  /// Waits for what was queued; an error of it is thrown.
  [[nodiscard]] std::vector<std::byte> read() const;
  /// The same, and a test failure if something is unwritten.
  [[nodiscard]] std::vector<float> read_floats() const;

 private:
  struct Memory;
  std::string name_;
  std::shared_ptr<Memory> memory_;
};

/// A packed tensor in device memory, and between its rows memory that nothing has written.
class DeviceTensor {
 public:
  enum class Content { given, unwritten };

  /// Of the shape of `packed`, and with its numbers or without.
  DeviceTensor(const std::string& name, const Packed& packed, Content content);

  [[nodiscard]] Tensor tensor() const;
  [[nodiscard]] ConstTensor view() const { return attnscope::as_const(tensor()); }
  /// A copy; test failures tell of numbers that nothing wrote, and of writes between the rows.
  [[nodiscard]] Packed read_back() const;

 private:
  std::string name_;
  Packed shape_;
  DeviceMemory memory_;
};

}  // namespace attnscope::testing
