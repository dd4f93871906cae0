// SPDX-License-Identifier: Apache-2.0
//
// Forbidden pairs of a tile: keys at the edges of its rows' windows that some rows do not attend
// to.
#pragma once

#include "kernels/cpu/inner/key_window.h"

namespace attnscope::cpu {
namespace {

/// The weight of a forbidden pair in a careful pass; weights are never negative.
constexpr float forbidden = -1.0f;

/// Writes `value` to the lanes where a < b.
ATTNSCOPE_INLINE void store_where_less(Integers a, Integers b, Vector value, float* to) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(
      to, _mm512_cmplt_epi32_mask(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)),
      value);
#else
  store(to, a < b ? value : load(to));
#endif
}

/// Sets forbidden pairs at the edges of the windows to `value`. Windows ascend with the rows, so
/// keys before the first window's end are forbidden only to rows whose windows begin later, and
/// keys from the last window's begin on only to rows whose windows have ended.
ATTNSCOPE_INLINE void mask_edges(const TileWindow& window, float* scores, float value) {
  const Vector forbidden_score = splat(value);
  for (int x = 0; x < row_tile; x += lanes) {
    const Integers begin = load(window.begin + x), end = load(window.end + x);
    float* s = scores + x - window.any_begin * row_tile;
    const std::int32_t begun =
        window.all_begin < window.any_end ? window.all_begin : window.any_end;
    Integers key = splat(window.any_begin);
    for (std::int32_t j = window.any_begin; j < begun; ++j, key += 1) {
      store_where_less(key, begin, forbidden_score, s + j * row_tile);
    }
    const std::int32_t ending =
        window.all_end > window.any_begin ? window.all_end : window.any_begin;
    key = splat(ending);
    for (std::int32_t j = ending; j < window.any_end; ++j, key += 1) {
      store_where_less(end, key + 1, forbidden_score, s + j * row_tile);
    }
  }
}

}  // namespace
}  // namespace attnscope::cpu
