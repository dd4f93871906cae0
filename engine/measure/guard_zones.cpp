// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/guard_zones.h"

#include <algorithm>

#include "engine/attention/cuda_runtime.h"

namespace attnscope::measure {
namespace {

constexpr std::byte guard_value{0xA5};
// What every workspace starts at a multiple of, on each device.
constexpr std::size_t guard_bytes = 512;

std::int64_t reserved_for(HeatMemory& memory, std::int64_t bytes) {
  memory.empty_cache();
  const std::int64_t before = memory.counters().reserved;
  std::int64_t taken = 0;
  {
    const Buffer block(memory, bytes);
    taken = memory.counters().reserved - before;
  }
  memory.empty_cache();
  return taken;
}

}  // namespace

void GuardZones::watch(const char* name, std::span<std::byte> zone) {
  if (zone.empty()) return;
  if (device_ == DeviceKind::cpu) {
    std::ranges::fill(zone, guard_value);
  } else {
    cuda::fill(zone.data(), static_cast<std::int64_t>(zone.size()), guard_value);
  }
  zones_.push_back({name, zone});
}

const char* GuardZones::broken() const {
  const auto whole = [](std::byte value) { return value == guard_value; };
  std::vector<std::byte> fetched;
  for (const Zone& zone : zones_) {
    std::span<const std::byte> bytes = zone.bytes;
    if (device_ != DeviceKind::cpu) {
      fetched.resize(bytes.size());
      cuda::copy_to_host(fetched, bytes.data());
      bytes = fetched;
    }
    if (!std::ranges::all_of(bytes, whole)) return zone.name;
  }
  return nullptr;
}

GuardedWorkspace::GuardedWorkspace(HeatMemory& memory, std::int64_t bytes) {
  if (bytes == 0) return;
  const std::int64_t plain = reserved_for(memory, bytes);
  extra_requested_ = 2 * static_cast<std::int64_t>(guard_bytes);
  const std::int64_t before = memory.counters().reserved;
  whole_ = Buffer(memory, bytes + extra_requested_);
  extra_reserved_ = memory.counters().reserved - before - plain;
}

std::span<std::byte> GuardedWorkspace::bytes() const {
  const std::span<std::byte> whole = whole_.bytes();
  return whole.empty() ? whole : whole.subspan(guard_bytes, whole.size() - 2 * guard_bytes);
}

void GuardedWorkspace::watched_by(GuardZones& guards) const {
  const std::span<std::byte> whole = whole_.bytes();
  if (whole.empty()) return;
  guards.watch("workspace", whole.first(guard_bytes));
  guards.watch("workspace", whole.last(guard_bytes));
}

}  // namespace attnscope::measure
