#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the host hands to the unfused kernels, by value, and how it starts them.

#include <cstdint>

#include "kernels/base/result.h"
#include "kernels/cuda/operands.h"
#include "kernels/cuda/stream.h"
#include "kernels/cuda/windowed/lists.h"

namespace attnscope::cuda::windowed {

/// Of any launch; what it does not need is left as it is.
struct Arguments {
  Input x{}, y{};
  Output out{};
  float* scores = nullptr;         // written, or changed in place
  const float* weights = nullptr;  // read
  float* lse = nullptr;            // [tokens, heads] or null
  float scale = 1.0f;
  float outside = 0.0f;  // score of what is no key
  // Of the work list, and of all tensors alike.
  DeviceLists lists{};
  ItemDivision items{};
  std::int32_t head_dim = 0;
  std::int32_t heads = 0;
  std::int32_t heads_per_unit = 0;
  bool vector = false;  // rows begin and end at multiples of 16 bytes
  // Of the launch.
  const Unit* units = nullptr;
  std::int32_t unit_count = 0;
  bool shared = false;  // a unit is a block's, else a warp's
};

enum class Step : std::uint8_t {
  scores,           // scores = scale * x_i . y_j for row i's columns; `outside` where no key is
  softmax,          // scores in units of log 2 become weights: sum 1, or 0 in a row without keys
  values,           // out_i = scale * sum over row i's keys j of weight_ij y_j
  score_gradients,  // scores, the gradients dP of the weights P, become P (dP - sum of P dP)
  keys,             // out_j = scale * sum over the rows i that see key j of weight_ij y_i
};

[[nodiscard]] Status launch_step(Step step, DType dtype, const Arguments& arguments, Stream stream);

inline constexpr int warps_alone = 4;   // of a block whose warps have a unit each
inline constexpr int warps_shared = 8;  // of one whose warps share a unit

/// A token that passes by, in the shared memory of the warp that sums it.
struct alignas(16) Passing {
  float weights[strip_tokens];  // for each token that stands still
  const std::byte* row;
  std::uint32_t seen;  // a bit for each weight that counts
  std::uint32_t unused;
};
/// What four tiles side by side take of it: rows of 32 and 8 floats that none has, so that lanes
/// meet in no bank.
inline constexpr int floats_of_tiles = strip_tokens * 40;

/// Bytes of shared memory of a block.
[[nodiscard]] constexpr std::int64_t shared_of_scores(DType dtype, std::int64_t head_dim,
                                                      bool shared) {
  constexpr std::int64_t size = sizeof(float);
  if (dtype == DType::float32) return (shared ? 1 : warps_alone) * strip_tokens * head_dim * size;
  return (shared ? warps_shared : warps_alone) * floats_of_tiles * size;
}
[[nodiscard]] constexpr std::int64_t shared_of_sums(bool shared) {
  static_assert(32 * sizeof(Passing) >= floats_of_tiles * sizeof(float));
  return (shared ? warps_shared : warps_alone) * 32 * std::int64_t{sizeof(Passing)};
}

}  // namespace attnscope::cuda::windowed
