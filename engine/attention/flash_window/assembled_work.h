#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What an attention assembled from flash calls executes, in the tiles of LibTorch's flash kernels.

#include <cstdint>
#include <span>
#include <vector>

#include "engine/attention/flash_window/parts.h"
#include "engine/attention/implementation.h"

namespace attnscope {

[[nodiscard]] ExecutedWork assembled_work(const Problem& problem, std::span<const RowGroup> groups);

/// Bytes of float32 sums that the flash backward allocates for sequences of these rows
/// (mha_varlen_bwd in aten/src/ATen/native/transformers/cuda/flash_attn/flash_api.cpp: 128 rows
/// more a sequence).
[[nodiscard]] std::int64_t flash_backward_scratch(std::span<const TokenRange> sequences,
                                                  std::int64_t heads, std::int64_t head_dim);

}  // namespace attnscope
