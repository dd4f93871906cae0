#pragma once
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>

#include "kernels/plan/result.h"

namespace attnscope::cuda::planted {

struct SumArguments {
  const float* in;  // [rows, columns]
  float* out;       // [rows]
  std::int64_t rows;
  int columns;
};

[[nodiscard]] Status sum(const SumArguments& arguments);

}  // namespace attnscope::cuda::planted
