#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A store with many made-up samples, for what must stay quick whatever its size.

#include <filesystem>

namespace attnscope {

struct LargeStore {
  int small_runs = 9999;
  int cells = 5, samples = 19;  // of a small run, and of a cell
};

/// The small runs, then one of 1,000 cells with 50 samples each: 1,000,000 samples unless told
/// otherwise. `file` appears once it is whole. Throws where it cannot be written.
void fill_large_store(const std::filesystem::path& file, const LargeStore& size = {});

}  // namespace attnscope
