// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/trouble.h"

#include <c10/util/Exception.h>

#include "engine/measure/available_memory.h"

namespace attnscope::measure {
namespace {

std::optional<Trouble> attempt(BlockCache& memory, const std::function<void()>& action) {
  try {
    action();
    return std::nullopt;
  } catch (const OutOfMemory& error) {
    return Trouble{CellStatus::oom, error.what()};
  } catch (const std::bad_alloc&) {
    return Trouble{CellStatus::oom, fmt::format("an allocation failed when {} were free",
                                                bytes_in_words(memory.free_bytes()))};
  } catch (const c10::OutOfMemoryError& error) {
    return Trouble{CellStatus::oom, fmt::format("{} ({} were free)", error.what_without_backtrace(),
                                                bytes_in_words(memory.free_bytes()))};
  } catch (const c10::Error& error) {
    return Trouble{CellStatus::crashed, error.what_without_backtrace()};
  } catch (const std::exception& error) {
    return Trouble{CellStatus::crashed, error.what()};
  }
}

}  // namespace

std::optional<Trouble> guarded(BlockCache& memory, const std::function<void()>& action) {
  std::optional<Trouble> trouble = attempt(memory, action);
  if (trouble) memory.empty_cache();
  return trouble;
}

}  // namespace attnscope::measure
