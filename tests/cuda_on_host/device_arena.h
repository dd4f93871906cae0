#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The address range of device allocations: a table of pages maps an address to its allocation.
// Allocations share no page, and released pages are returned to the system; addresses are reused
// only when nothing is allocated.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace attnscope::on_host {

/// The state of two bytes: the last write, and the later reads that the next write must be ordered
/// after. A time is an epoch (the number of barriers and block starts so far; blocks run one after
/// the other, so an epoch belongs to one block) and, within a warp, its number of __syncwarp.
struct Granule {
  static constexpr std::uint16_t several = 0xffff;

  std::uint32_t write_epoch = 0;
  std::uint32_t write_warp_epoch = 0;
  std::uint32_t read_epoch = 0;
  std::uint32_t read_warp_epoch = 0;
  std::uint16_t writer = 0;
  std::uint16_t writer_fences = 0;  // of the writer, before the write
  std::uint16_t reader = 0;         // in read_epoch: a thread, or `several` of one warp
  std::uint16_t reader_warp = 0;    // or `several`
  bool written = false;
  bool by_atomic = false;
  bool read_by_many_blocks = false;  // of the launch that read_epoch is in
};

struct Allocation {
  std::string name;
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
  std::vector<Granule> granules;
};

class DeviceArena {
 public:
  DeviceArena();

  [[nodiscard]] std::byte* allocate(const std::string& name, std::size_t bytes);
  void release(std::byte* memory);
  /// The allocation whose pages, including red zones, contain the address, or nullptr.
  [[nodiscard]] Allocation* find(const void* address) const;

 private:
  static constexpr std::size_t arena_bytes = std::size_t{16} << 30;  // of addresses, not of memory

  std::byte* begin_ = nullptr;
  std::size_t next_page_ = 0;
  std::size_t live_ = 0;
  std::vector<Allocation*> allocation_of_page_;
  std::map<std::byte*, std::unique_ptr<Allocation>> allocations_;
};

[[nodiscard]] DeviceArena& device_arena();

}  // namespace attnscope::on_host
