#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The kernels of the band and their arguments. One thread computes one cell, one warp computes one
// row's softmax, and one thread computes one number of a result, or a few threads in a fixed order
// if very many keys are summed.

#include <cstdint>

#include "base/result.h"
#include "engine/attention/longformer_banded/plan_lists.h"
#include "kernels/cuda/devices.h"
#include "kernels/plan/tensor.h"

namespace attnscope::longformer_banded {

/// A tensor without its element type.
struct View {
  std::byte* data = nullptr;
  std::int64_t token_stride = 0, head_stride = 0, item_stride = 0;  // in elements
  std::int32_t item_tokens = 0;
  std::int32_t aligned = 0;  // 1: every row can be read 16 bytes at a time
};

struct BandArguments {
  ListsOnDevice lists;
  DType dtype = DType::float32;
  View x, y, out;
  float* scores = nullptr;
  float* row_dots = nullptr;  // one float for each row of each task and head, or null
  float* lse = nullptr;       // [tokens, heads] or null
  float scale = 1.0F;
  float outside = 0.0F;  // value of a cell without a key
  std::int32_t head_dim = 0;
  std::int32_t heads = 0;
};

/// scores = scale x_i . y_j.
[[nodiscard]] Status launch_cells(const BandArguments& arguments, std::int64_t blocks,
                                  cuda::Stream stream);
/// Replaces weights with scores' gradients: weight_ij (x_i . y_j - row_dots_i), or x_i . y_j if
/// row_dots is null. Cells without a key stay 0.
[[nodiscard]] Status launch_cell_gradients(const BandArguments& arguments, std::int64_t blocks,
                                           cuda::Stream stream);
/// Replaces scores in units of log 2 with weights that sum to 1, or to 0 in a row without keys.
[[nodiscard]] Status launch_softmax(const BandArguments& arguments, std::int64_t blocks,
                                    cuda::Stream stream);
/// row_dots_i = x_i . y_i.
[[nodiscard]] Status launch_row_dots(const BandArguments& arguments, std::int64_t blocks,
                                     cuda::Stream stream);
/// out_i = scale sum_j weight_ij y_j.
[[nodiscard]] Status launch_row_sums(const BandArguments& arguments, std::int64_t blocks,
                                     cuda::Stream stream);
/// out_j = scale sum_i weight_ij x_i.
[[nodiscard]] Status launch_key_sums(const BandArguments& arguments, std::int64_t blocks,
                                     cuda::Stream stream);

}  // namespace attnscope::longformer_banded
