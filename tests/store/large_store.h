#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A store with many generated samples.

#include <filesystem>

namespace attnscope {

struct LargeStore {
  int small_runs = 9999;
  int cells = 5, samples = 19;  // per small run and per cell
};

/// Writes the small runs and one of 1,000 cells with 50 samples each: by default 1,000,000 samples.
/// `file` appears when it is complete. Throws if it cannot be written.
void fill_large_store(const std::filesystem::path& file, const LargeStore& size = {});

}  // namespace attnscope
