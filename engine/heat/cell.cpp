// SPDX-License-Identifier: Apache-2.0
#include "engine/heat/cell.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "kernels/base/sentences.h"

namespace attnscope {
namespace {

// In the order of CellStatus.
constexpr std::array<std::string_view, 7> status_names{
    "ok", "unsupported", "oom", "wrong", "crashed", "timeout", "cancelled"};

double seconds_at(double work, double per_second) {
  return work > 0 && per_second > 0 ? work / per_second : 0.0;
}

double copy_rate(const Ceilings& ceilings, double bytes, CacheState cache) {
  if (ceilings.copy.empty()) return 0;
  if (cache == CacheState::cold) return ceilings.copy.back().bytes_per_second;
  const auto holds = [bytes](const Ceilings::Copy& copy) {
    return static_cast<double>(copy.working_set_bytes) >= bytes;
  };
  const auto found = std::ranges::find_if(ceilings.copy, holds);
  return (found == ceilings.copy.end() ? ceilings.copy.back() : *found).bytes_per_second;
}

}  // namespace

std::string_view name_of(CellStatus status) {
  return status_names.at(static_cast<std::size_t>(status));
}

Result<CellStatus> parse_cell_status(std::string_view text) {
  const auto found = std::ranges::find(status_names, text);
  if (found == status_names.end()) {
    return fail("unknown cell status '{}'; {}", text, suggest(text, status_names));
  }
  return static_cast<CellStatus>(found - status_names.begin());
}

bool has_unseen_memory(const CellMemory& memory) {
  constexpr double tolerated_bytes = 32 << 20;
  constexpr double tolerated_share = 1.1;
  const auto counted = static_cast<double>(std::max(memory.requested_bytes, memory.reserved_bytes));
  return memory.process_peak_bytes && static_cast<double>(*memory.process_peak_bytes) >
                                          tolerated_share * counted + tolerated_bytes;
}

std::int64_t peak_bytes(const CellMemory& memory) {
  return has_unseen_memory(memory) ? *memory.process_peak_bytes : memory.requested_bytes;
}

bool are_ceilings_of(const Ceilings& ceilings, const HeatPoint& point) {
  if (ceilings.device != point.device) return false;
  if (point.device == DeviceKind::cpu)
    return ceilings.threads == point.threads && point.dtype == DType::float32;
  return point.dtype == DType::float32 || ceilings.tensor_flop_per_second > 0;
}

double limit_ns(const CellWork& work, const Ceilings& ceilings, CacheState cache, DType dtype) {
  const bool on_tensor_cores = dtype != DType::float32 && ceilings.tensor_flop_per_second > 0;
  const double flop_per_second =
      on_tensor_cores ? ceilings.tensor_flop_per_second : ceilings.flop_per_second;
  return 1e9 * std::max({seconds_at(work.useful_flop, flop_per_second),
                         seconds_at(work.least_bytes, copy_rate(ceilings, work.least_bytes, cache)),
                         seconds_at(work.exponentials, ceilings.exponentials_per_second)});
}

}  // namespace attnscope
