#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One product of the tensor cores, C [16 x 8] = A [16 x 16] B [16 x 8], with factors and result in
// registers as in the kernels.

#include <cstdint>

#include "base/result.h"
#include "kernels/plan/tensor.h"

namespace attnscope::cuda::planted {

enum class Fragments : std::uint8_t {
  right,
  registers_of_a_swapped,
  pairs_of_b_swapped,
  halves_of_b_swapped,
  rows_of_c_one_off,
};

struct Product {
  const std::uint16_t* a;  // [16, 16], of the dtype
  const std::uint16_t* b;  // [16, 8]
  float* c;                // [16, 8]
  Fragments fragments;
};

[[nodiscard]] Status multiply(const Product& product, DType dtype);

/// 2^x of 32 numbers.
struct Powers {
  const float* x;
  float* y;
};

[[nodiscard]] Status powers(const Powers& powers);

}  // namespace attnscope::cuda::planted
