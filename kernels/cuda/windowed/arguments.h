#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the host hands to the unfused kernels, and which kernels there are: one set for each type
// and class of head dimensions, instantiated in a file of its own.

#include <cstdint>

#include "kernels/base/result.h"
#include "kernels/cuda/stream.h"
#include "kernels/cuda/windowed/lists.h"
#include "kernels/plan/tensor.h"

namespace attnscope::cuda::windowed {

inline constexpr int block_threads = 128;

/// A tensor as a kernel reads it, its element type apart.
struct View {
  std::byte* data = nullptr;
  std::int64_t token_stride = 0, head_stride = 0, item_stride = 0;  // in elements
  std::int32_t item_tokens = 0;                                     // 0: one strided run
  std::int32_t aligned = 0;  // 1: every row can be read and written 16 bytes at a time
};

/// A product around the score matrices.
struct ProductArguments {
  DeviceLists lists;
  View x, y, out;
  float* scores = nullptr;         // written by the scores' kernel
  const float* weights = nullptr;  // read by the others
  float* partials = nullptr;
  float scale = 1.0f;
  float outside = 0.0f;  // score of what is no key
  std::int32_t head_dim = 0;
  std::int32_t heads_per_unit = 0;
  std::int32_t column_parts = 1;  // blocks that share a unit and head, each with its own columns of
                                  // the sums: 256 float32 columns are too many for registers
};

/// scores = scale * x_i . y_j for row i's columns; `outside` where no key is.
template <DType type, int dim>
[[nodiscard]] Status launch_scores(const ProductArguments& arguments, std::int64_t blocks,
                                   Stream stream);

/// out_i = scale * sum over row i's keys j of weight_ij y_j.
template <DType type, int dim>
[[nodiscard]] Status launch_values(const ProductArguments& arguments, std::int64_t blocks,
                                   Stream stream);

/// out_j = scale * sum over the rows i that see key j of weight_ij x_i.
template <DType type, int dim>
[[nodiscard]] Status launch_keys(const ProductArguments& arguments, std::int64_t blocks,
                                 Stream stream);

/// Adds up what several units left in the workspace.
struct MergeArguments {
  const Merge* merges = nullptr;
  const std::int32_t* indices = nullptr;
  const float* partials = nullptr;
  View out;
  DType dtype = DType::float32;
  float scale = 1.0f;
  std::int32_t head_dim = 0;
  std::int32_t heads_per_unit = 0;
};

[[nodiscard]] Status launch_merges(const MergeArguments& arguments, std::int64_t blocks,
                                   Stream stream);

/// Work on whole rows of scores.
struct RowArguments {
  const Unit* units = nullptr;
  const std::int32_t* indices = nullptr;
  float* scores = nullptr;         // in place
  const float* weights = nullptr;  // for the gradients
  float* lse = nullptr;            // [tokens, heads] or null
  std::int32_t heads = 0;
  std::int32_t heads_per_unit = 0;
};

/// Scores in units of log 2 become weights that sum to 1, or to 0 in a row without keys.
[[nodiscard]] Status launch_softmax(const RowArguments& arguments, std::int64_t blocks,
                                    Stream stream);

/// scores holds dP, the gradients of the weights P, and becomes P (dP - sum of P dP).
[[nodiscard]] Status launch_score_gradients(const RowArguments& arguments, std::int64_t blocks,
                                            Stream stream);

}  // namespace attnscope::cuda::windowed
