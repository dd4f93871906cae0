// SPDX-License-Identifier: Apache-2.0
//
// The first few floats of a vector, for a row that ends within one. Memory past the row is neither
// read nor written: it belongs to another row, perhaps of another thread. Nothing goes through a
// buffer: a load of data just stored in several parts would wait for the stores.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "kernels/cpu/inner/vector.h"

namespace attnscope::cpu {
namespace {

#if defined(__AVX512F__)

ATTNSCOPE_INLINE __mmask16 first_lanes(std::int64_t count) {
  return static_cast<__mmask16>((1u << count) - 1u);
}

/// p[0 ... count) and `beyond` in the other lanes, 0 <= count <= lanes.
ATTNSCOPE_INLINE Vector load_first(const float* p, std::int64_t count, float beyond) {
  return reinterpret_cast<Vector>(
      _mm512_mask_loadu_ps(reinterpret_cast<__m512>(splat(beyond)), first_lanes(count), p));
}

/// Writes p[0 ... count), 0 <= count <= lanes.
ATTNSCOPE_INLINE void store_first(float* p, std::int64_t count, Vector v) {
  _mm512_mask_storeu_ps(p, first_lanes(count), reinterpret_cast<__m512>(v));
}

#else

#if defined(__AVX2__)
constexpr std::int32_t lane_numbers[lanes] = {0, 1, 2, 3, 4, 5, 6, 7};

ATTNSCOPE_INLINE Vector load_first(const float* p, std::int64_t count, float beyond) {
  const Integers within = load(lane_numbers) < splat(static_cast<std::int32_t>(count));
  const auto loaded =
      reinterpret_cast<Vector>(_mm256_maskload_ps(p, reinterpret_cast<__m256i>(within)));
  return within ? loaded : splat(beyond);
}
#else
ATTNSCOPE_INLINE Vector load_first(const float* p, std::int64_t count, float beyond) {
  switch (count) {
    case 0:
      return splat(beyond);
    case 1:
      return Vector{p[0], beyond, beyond, beyond};
    case 2:
      return Vector{p[0], p[1], beyond, beyond};
    case 3:
      return Vector{p[0], p[1], p[2], beyond};
    default:
      return load(p);
  }
}
#endif

/// In halves: masked stores take dozens of steps on some processors with AVX2.
ATTNSCOPE_INLINE void store_first(float* p, std::int64_t count, Vector v) {
  if (count >= lanes) return store(p, v);
  Vector4 rest = __builtin_shufflevector(v, v, 0, 1, 2, 3);
#if defined(__AVX2__)
  if (count >= 4) {
    store4(p, rest);
    rest = __builtin_shufflevector(v, v, 4, 5, 6, 7);
    p += 4, count -= 4;
  }
#endif
  if (count >= 2) {
    p[0] = rest[0];
    p[1] = rest[1];
    rest = __builtin_shufflevector(rest, rest, 2, 3, 2, 3);
    p += 2, count -= 2;
  }
  if (count >= 1) p[0] = rest[0];
}

#endif

}  // namespace
}  // namespace attnscope::cpu
