#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Small kernels, each with one bug if `planted` is set, which the emulation must detect; and
// kernels of single instructions.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "kernels/plan/tensor.h"

namespace attnscope::cuda::planted {

inline constexpr int blocks = 2;
inline constexpr int threads = 64;
inline constexpr int numbers = blocks * threads;

struct Memory {
  const float* in;    // [numbers]
  float* out;         // [numbers]
  unsigned* counter;  // 0
  const float* host;  // host memory
  bool planted;
};

struct Bug {
  std::string name;
  Status (*run)(const Memory& memory);
  std::string reported;  // a regular expression for the message of the planted bug
};

[[nodiscard]] std::vector<Bug> bugs();

/// One product of the tensor cores, C [16 x 8] = A [16 x 16] B [16 x 8], with factors and result in
/// registers as in the kernels.
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
