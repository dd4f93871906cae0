#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Rows of a reference, in float64.

#include <cstdint>

namespace attnscope::testing {

inline double dot(const double* a, const double* b, std::int64_t n) {
  double sum = 0;
  for (std::int64_t x = 0; x < n; ++x) sum += a[x] * b[x];
  return sum;
}

/// to += factor * from.
inline void add(double factor, const double* from, std::int64_t n, double* to) {
  for (std::int64_t x = 0; x < n; ++x) to[x] += factor * from[x];
}

}  // namespace attnscope::testing
