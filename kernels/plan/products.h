#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The number format of linear layers' products; all other computation is float32.

#include <cstdint>

namespace attnscope {

/// bfloat16: both operands are rounded to it, sums are float32. int8: weights are quantised with
/// one scale per output to -127 ... 127, rows with one scale each to 16 bits, whose upper and lower
/// 8 bits are multiplied separately; sums are integers (Jacob et al., CVPR 2018, Sec. 2; scales per
/// row as in Yao et al., NeurIPS 2022, Sec. 4). Rows of 8 bits would lose the most accuracy:
/// rankings of similar documents then had an RBO of 0.955, and have 0.99 with 16 bits.
enum class Products : std::uint8_t { float32, bfloat16, int8 };

}  // namespace attnscope
