#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Device memory for tests that run on a GPU, and under the emulation on the host: of exactly the
// size asked for, so that whatever watches accesses sees the first byte beyond.
//
//   DeviceMemory o(packed.data);
//   ... kernels that write o.data(), queued on the default stream ...
//   packed.data = o.read();

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attnscope::testing {

/// Why there is no device to run on, or nothing.
[[nodiscard]] std::optional<std::string> no_device();

class DeviceMemory {
 public:
  /// Nothing has written it.
  explicit DeviceMemory(std::int64_t bytes);
  explicit DeviceMemory(std::span<const std::byte> values);

  [[nodiscard]] std::byte* data() const;
  /// Sets the first bytes to 0.
  void clear(std::int64_t bytes);
  /// Waits for what was queued; an error of it is thrown.
  [[nodiscard]] std::vector<std::byte> read() const;

 private:
  struct Memory;
  std::shared_ptr<Memory> memory_;
};

}  // namespace attnscope::testing
