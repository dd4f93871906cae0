#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Memory around what a call may write, filled before the call and looked at after it.
//
//   GuardZones guards(device.kind());
//   buffers.watched_by(guards);
//   call();
//   if (const char* name = guards.broken()) report("it wrote outside its {}", name);

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/measure/heat_memory.h"
#include "engine/pattern/axes.h"

namespace attnscope::measure {

class GuardZones {
 public:
  explicit GuardZones(DeviceKind device) : device_(device) {}
  /// Fills the zone, which lies in the device's memory and outlives this. `name` is a literal.
  void watch(const char* name, std::span<std::byte> zone);
  /// The name of the first zone that was written to; nullptr when all are whole.
  [[nodiscard]] const char* broken() const;

 private:
  struct Zone {
    const char* name;
    std::span<std::byte> bytes;
  };
  DeviceKind device_;
  std::vector<Zone> zones_;
};

/// A workspace with room before and behind it, and what the room costs: figures of memory are those
/// of a workspace without.
class GuardedWorkspace {
 public:
  /// Empties the memory's cache.
  GuardedWorkspace(HeatMemory& memory, std::int64_t bytes);
  [[nodiscard]] std::span<std::byte> bytes() const;
  void watched_by(GuardZones& guards) const;
  [[nodiscard]] std::int64_t extra_requested() const { return extra_requested_; }
  [[nodiscard]] std::int64_t extra_reserved() const { return extra_reserved_; }

 private:
  std::int64_t extra_requested_ = 0, extra_reserved_ = 0;
  Buffer whole_;
};

}  // namespace attnscope::measure
