// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/heat_memory.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/attention/cuda_runtime.h"
#include "engine/attention/served/served_process.h"
#include "engine/measure/machine.h"

namespace attnscope::measure {
namespace {

std::optional<Failure> attempt(HeatMemory& memory, const std::function<void()>& action) {
  try {
    action();
    return std::nullopt;
  } catch (const OutOfMemory& error) {
    return Failure{CellStatus::oom, error.what()};
  } catch (const std::bad_alloc&) {
    return Failure{CellStatus::oom, fmt::format("an allocation failed when {} were free",
                                                bytes_text(memory.free_bytes()))};
  } catch (const ServedProcessEnded& error) {
    return Failure{error.for_memory() ? CellStatus::oom : CellStatus::crashed, error.what()};
  } catch (const cuda::DeviceLost&) {
    throw;  // no contender can continue in this process
  } catch (const c10::OutOfMemoryError& error) {
    const std::string words = requested_and_free(error.what_without_backtrace());
    return Failure{CellStatus::oom,
                   fmt::format("{} ({} were free)", words, bytes_text(memory.free_bytes()))};
  } catch (const c10::Error& error) {
    return Failure{CellStatus::crashed, error.what_without_backtrace()};
  } catch (const std::exception& error) {
    return Failure{CellStatus::crashed, error.what()};
  }
}

/// LibTorch's messages have several lines; the first one states the error.
std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

OutOfMemory::OutOfMemory(std::int64_t requested, std::int64_t free)
    : requested_(requested),
      free_(free),
      what_(
          fmt::format("requested {} when {} were free", bytes_text(requested), bytes_text(free))) {}

Buffer::Buffer(HeatMemory& memory, std::int64_t bytes)
    : memory_(&memory),
      bytes_(static_cast<std::byte*>(memory.allocate(static_cast<std::size_t>(bytes))),
             static_cast<std::size_t>(bytes)) {}

Buffer::Buffer(Buffer&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), bytes_(std::exchange(other.bytes_, {})) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Buffer::~Buffer() {
  if (memory_ != nullptr) memory_->release(bytes_.data());
}

std::optional<Failure> guarded(HeatMemory& memory, const std::function<void()>& action) {
  std::optional<Failure> failure = attempt(memory, action);
  if (!failure) return failure;
  if (const auto lost = memory.lost()) {
    throw cuda::DeviceLost(fmt::format("{}; the device is lost to this process: {}",
                                       first_line(failure->reason), *lost));
  }
  memory.empty_cache();
  return failure;
}

HeatMemory::Counters counters_of(const CudaAllocatorStatistics& statistics) {
  return {.requested = statistics.requested,
          .requested_peak = statistics.requested_peak,
          .reserved = statistics.reserved,
          .reserved_peak = statistics.reserved_peak,
          .cached = statistics.reserved - statistics.active,
          .fresh = statistics.reserved_ever};
}

std::int64_t free_for_requests(const CudaAllocatorStatistics& statistics, std::int64_t driver_free,
                               std::int64_t driver_total, std::optional<std::int64_t> limit) {
  const std::int64_t margin = std::clamp(driver_total / 50, 256 * mib, 2048 * mib);
  const std::int64_t cached = statistics.reserved - statistics.active;
  std::int64_t free = driver_free + cached - margin;
  if (limit) free = std::min(free, *limit - statistics.active);
  return std::max<std::int64_t>(free, 0);
}

double without_empty_pair(double between_ns, double empty_ns) {
  return std::max(between_ns - empty_ns, between_ns / 2);
}

std::string requested_and_free(std::string_view libtorch_words) {
  constexpr std::string_view last = " is free.";
  const std::size_t at = libtorch_words.find(last);
  if (at == std::string_view::npos) return std::string(libtorch_words);
  return std::string(libtorch_words.substr(0, at + last.size()));
}

}  // namespace attnscope::measure
