#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Cuts tasks of many rows, or with windows, into tiles, each with the spans that it can see. Few
// tiles past which much streams are cut along what streams, for all of the machine to take part.

#include <cstdint>

#include "kernels/cuda/work/directed_tasks.h"
#include "kernels/cuda/work/draft.h"

namespace attnscope::cuda {

/// Few rows that see whatever streams by whole: they go along with others' tiles.
[[nodiscard]] bool is_narrow(const DirectedTask& task);

/// Units of the tasks that are not narrow, for tiles of `tile_tokens`.
[[nodiscard]] Draft cut_tiles(const Direction& direction, std::int32_t tile_tokens,
                              std::int32_t heads, Indices indices);

}  // namespace attnscope::cuda
