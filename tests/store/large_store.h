#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A store with many generated samples.

#include <filesystem>
#include <stdexcept>
#include <utility>

#include "base/result.h"

namespace attnscope {

/// The value; throws the error's message.
template <typename T>
T need(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}
inline void need(const Status& status) {
  if (!status) throw std::runtime_error(status.error().message);
}

struct LargeStore {
  int small_runs = 9999;
  int cells = 5, samples = 19;  // per small run and per cell
};

/// Writes the small runs and one of 1,000 cells with 50 samples each: by default 1,000,000 samples.
/// `file` appears when it is complete. Throws if it cannot be written.
void fill_large_store(const std::filesystem::path& file, const LargeStore& size = {});

}  // namespace attnscope
