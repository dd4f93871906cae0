// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/failure.h"

#include <c10/util/Exception.h>

#include "engine/attention/cuda_runtime.h"
#include "engine/attention/served/served_process.h"
#include "engine/measure/cuda_statistics.h"
#include "engine/measure/machine_memory.h"

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
                                                bytes_in_words(memory.free_bytes()))};
  } catch (const ServedProcessEnded& error) {
    return Failure{error.for_memory() ? CellStatus::oom : CellStatus::crashed, error.what()};
  } catch (const cuda::DeviceLost&) {
    throw;  // no contender can continue in this process
  } catch (const c10::OutOfMemoryError& error) {
    const std::string words = requested_and_free(error.what_without_backtrace());
    return Failure{CellStatus::oom,
                   fmt::format("{} ({} were free)", words, bytes_in_words(memory.free_bytes()))};
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

}  // namespace attnscope::measure
