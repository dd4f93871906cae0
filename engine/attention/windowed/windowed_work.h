#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the windowed kernels of either device execute, from the number of scores they store.

#include <cstdint>

#include "engine/attention/implementation.h"

namespace attnscope {

/// The three steps with their softmax.
[[nodiscard]] ExecutedWork windowed_steps_work(const Problem& problem, std::int64_t scores);
/// The two products alone.
[[nodiscard]] ExecutedWork windowed_products_work(const Problem& problem, std::int64_t scores);

}  // namespace attnscope
