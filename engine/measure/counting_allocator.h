#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Puts a BlockCache under LibTorch: every CPU tensor is then counted, cached, 64-byte aligned and
// refused before the machine swaps. MKL's and oneDNN's private packing buffers do not pass here.
//
//   BlockCache& memory = process_memory();
//   at::Tensor t = at::empty({1024});     // memory.counters().requested grew by 4096

#include "engine/measure/block_cache.h"

namespace attnscope::measure {

/// What lies under every tensor, for provenance.
inline constexpr const char* process_memory_in_words =
    "counting and caching, 64-byte aligned; from 2 MiB on aligned to 2 MiB, huge pages advised";

/// The memory of this process, under LibTorch from the first call on. It is never destroyed:
/// LibTorch keeps tensors of its own until after main.
[[nodiscard]] BlockCache& process_memory();

}  // namespace attnscope::measure
