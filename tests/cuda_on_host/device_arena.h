#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where device allocations lie: one range of addresses, so that the allocation of an address is
// found in a table of pages. No page is shared, and a released one is given back; addresses are
// used again only when nothing is allocated.

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/cuda_on_host/granule.h"

namespace attnscope::on_host {

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
  /// The allocation whose pages, red zones included, hold the address, or nullptr.
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
