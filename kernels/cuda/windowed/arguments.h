#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the host hands to the unfused kernels, and which kernels there are: the products of each
// type and class of head dimensions, instantiated in a file of its own, and what is done to whole
// rows of scores.

#include <cstdint>

#include "kernels/base/result.h"
#include "kernels/cuda/operands.h"
#include "kernels/cuda/stream.h"
#include "kernels/cuda/windowed/lists.h"

namespace attnscope::cuda::windowed {

inline constexpr int block_threads = 128;

/// Of any launch; what it does not need is left as it is.
struct Arguments {
  DeviceLists lists;
  ItemDivision items;
  Input x, y;
  Output out;
  float* scores = nullptr;         // written, or changed in place
  const float* weights = nullptr;  // read
  float* lse = nullptr;            // [tokens, heads] or null
  float* partials = nullptr;
  const Merge* merges = nullptr;
  float scale = 1.0f;
  float outside = 0.0f;  // score of what is no key
  std::int32_t head_dim = 0;
  std::int32_t heads = 0;
  std::int32_t heads_per_unit = 0;
  std::int32_t column_parts = 1;  // blocks that share a unit and head, each with its own columns of
                                  // the sums: 256 float32 columns are too many for registers
  DType dtype = DType::float32;
  bool vector = false;  // rows of all tensors begin and end at multiples of 16 bytes
};

using Launch = Status (*)(const Arguments& arguments, std::int64_t blocks, Stream stream);

/// scores = scale * x_i . y_j for row i's columns; `outside` where no key is.
template <DType type, int dim>
[[nodiscard]] Status launch_scores(const Arguments&, std::int64_t blocks, Stream);

/// out_i = scale * sum over row i's keys j of weight_ij y_j.
template <DType type, int dim>
[[nodiscard]] Status launch_values(const Arguments&, std::int64_t blocks, Stream);

/// out_j = scale * sum over the rows i that see key j of weight_ij x_i.
template <DType type, int dim>
[[nodiscard]] Status launch_keys(const Arguments&, std::int64_t blocks, Stream);

/// Adds up what several units left in the workspace.
[[nodiscard]] Status launch_merges(const Arguments&, std::int64_t blocks, Stream);

/// Scores in units of log 2 become weights that sum to 1, or to 0 in a row without keys.
[[nodiscard]] Status launch_softmax(const Arguments&, std::int64_t blocks, Stream);

/// scores holds dP, the gradients of the weights P, and becomes P (dP - sum of P dP).
[[nodiscard]] Status launch_score_gradients(const Arguments&, std::int64_t blocks, Stream);

}  // namespace attnscope::cuda::windowed
