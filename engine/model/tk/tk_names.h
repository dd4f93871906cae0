#pragma once
// SPDX-License-Identifier: Apache-2.0

namespace attnscope::tk_names {

inline constexpr const char* scale = "nn_scaler";          // [1], for both sums
inline constexpr const char* mixer = "mixer";              // [1, 1, 1]
inline constexpr const char* logarithms = "dense.weight";  // [1, 11]
inline constexpr const char* means = "dense_mean.weight";  // [1, 11]
inline constexpr const char* both = "dense_comb.weight";   // [1, 2]

}  // namespace attnscope::tk_names
