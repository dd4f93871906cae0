#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Places rows that are too few for a tile - [CLS], the query's rows - where what streams past them
// is staged anyway: as extra strips of the tiles of their item, each streamed token once in all.
// What no tile stages goes to units of their own.

#include "kernels/cuda/work/directed_tasks.h"
#include "kernels/cuda/work/draft.h"

namespace attnscope::cuda {

/// Adds the narrow tasks of `direction` (see is_narrow) to a draft of all its other tasks.
void place_narrow_rows(const Direction& direction, std::int32_t heads, Indices indices,
                       Draft& draft);

}  // namespace attnscope::cuda
