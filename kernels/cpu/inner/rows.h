// SPDX-License-Identifier: Apache-2.0
//
// Rows of a tensor in its own type, converted from and to float32, the only type of the products.
// 16-bit numbers are converted with the processor's instructions if the set has them and with
// integer arithmetic otherwise; both round to nearest even.
#pragma once

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include <cstring>

#include "kernels/cpu/inner/vector.h"
#include "kernels/cpu/kernel_table.h"

namespace attnscope::cpu {
namespace {

typedef std::uint16_t Halves __attribute__((vector_size(lanes * 2)));
typedef std::uint16_t UnalignedHalves
    __attribute__((vector_size(lanes * 2), aligned(2), may_alias));

ATTNSCOPE_INLINE Halves load_halves(const std::uint16_t* p) {
  return *reinterpret_cast<const UnalignedHalves*>(p);
}
ATTNSCOPE_INLINE void store_halves(std::uint16_t* p, Halves v) {
  *reinterpret_cast<UnalignedHalves*>(p) = v;
}
ATTNSCOPE_INLINE Bits splat_bits(std::uint32_t x) {
  return x - Bits{};
}

/// GCC 12 widens whole vectors in two halves.
ATTNSCOPE_INLINE Bits widened(Halves h) {
#if defined(__AVX512F__)
  return reinterpret_cast<Bits>(_mm512_maskz_cvtepu16_epi32(0xffff, reinterpret_cast<__m256i>(h)));
#elif defined(__AVX2__)
  return reinterpret_cast<Bits>(_mm256_cvtepu16_epi32(reinterpret_cast<__m128i>(h)));
#else
  return __builtin_convertvector(h, Bits);
#endif
}

ATTNSCOPE_INLINE Vector from_bfloat16(Halves h) {
  return reinterpret_cast<Vector>(widened(h) << 16);
}

#if defined(__AVX512BF16__)
// One instruction instead of about ten; it treats subnormal numbers as 0. The set's product of
// bfloat16 pairs is not used: a Sapphire Rapids core starts one every two cycles, 115 GFLOP/s
// against 230 of its multiply-adds, so that widening bfloat16 keys makes scores faster.
ATTNSCOPE_INLINE Halves to_bfloat16(Vector v) {
  return reinterpret_cast<Halves>(_mm512_maskz_cvtneps_pbh(0xffff, v));
}
#else
ATTNSCOPE_INLINE Halves to_bfloat16(Vector v) {
  const Bits x = reinterpret_cast<Bits>(v);
  const Bits rounded = (x + 0x7fffu + ((x >> 16) & 1u)) >> 16;
  const Bits quiet = (x >> 16) | 0x40u;  // a NaN's payload must not round to infinity
  return __builtin_convertvector(v == v ? rounded : quiet, Halves);
}
#endif

#if defined(__F16C__)
#if defined(__AVX512F__)
// Masked with all lanes: the plain forms start from an undefined register, for which GCC 12 warns.
ATTNSCOPE_INLINE Vector from_float16(Halves h) {
  return reinterpret_cast<Vector>(_mm512_maskz_cvtph_ps(0xffff, reinterpret_cast<__m256i>(h)));
}
ATTNSCOPE_INLINE Halves to_float16(Vector v) {
  return reinterpret_cast<Halves>(_mm512_maskz_cvtps_ph(
      0xffff, reinterpret_cast<__m512>(v), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
#else
ATTNSCOPE_INLINE Vector from_float16(Halves h) {
  return reinterpret_cast<Vector>(_mm256_cvtph_ps(reinterpret_cast<__m128i>(h)));
}
ATTNSCOPE_INLINE Halves to_float16(Vector v) {
  return reinterpret_cast<Halves>(
      _mm256_cvtps_ph(reinterpret_cast<__m256>(v), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
#endif
#else
ATTNSCOPE_INLINE Vector from_float16(Halves h) {
  const Bits x = __builtin_convertvector(h, Bits);
  const Bits magnitude = (x & 0x7fffu) << 13;
  // Read with float32's exponent the number is 2^112 too small, subnormal ones included.
  const Bits scaled = reinterpret_cast<Bits>(reinterpret_cast<Vector>(magnitude) * 0x1p112f);
  const Bits special = magnitude | 0x7f800000u;  // infinity or NaN
  const Bits value = magnitude >= splat_bits(0x0f800000u) ? special : scaled;
  return reinterpret_cast<Vector>(value | ((x & 0x8000u) << 16));
}
ATTNSCOPE_INLINE Halves to_float16(Vector v) {
  const Bits x = reinterpret_cast<Bits>(v);
  const Bits magnitude = x & 0x7fffffffu;
  // Below 2^-14 adding 1/2 leaves the subnormal's digits, rounded, in the low bits.
  const Bits subnormal =
      reinterpret_cast<Bits>(reinterpret_cast<Vector>(magnitude) + 0.5f) - 0x3f000000u;
  const Bits normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  const Bits special =
      magnitude > splat_bits(0x7f800000u) ? splat_bits(0x7e00u) : splat_bits(0x7c00u);
  const Bits finite = magnitude < splat_bits(0x38800000u) ? subnormal : normal;
  const Bits value = magnitude >= splat_bits(0x47800000u) ? special : finite;
  return __builtin_convertvector(value | ((x & 0x80000000u) >> 16), Halves);
}
#endif

/// Copies d floats and zeros the rest up to `padded`, a multiple of the lanes.
ATTNSCOPE_INLINE void copy_padded(const float* from, std::int64_t d, std::int64_t padded,
                                  float* to) {
  std::int64_t c = 0;
  for (; c + lanes <= d; c += lanes) store(to + c, load(from + c));
  if (c < padded) store(to + c, load_first(from + c, d - c, 0.0f));
}

template <typename Widen>
ATTNSCOPE_INLINE void widen_padded(const std::uint16_t* from, std::int64_t d, std::int64_t padded,
                                   float* to, const Widen& widen) {
  std::int64_t c = 0;
  for (; c + lanes <= d; c += lanes) store(to + c, widen(load_halves(from + c)));
  if (c == padded) return;
  std::uint16_t tail[lanes] = {};
  for (std::int64_t i = c; i < d; ++i) tail[i - c] = from[i];
  store(to + c, widen(load_halves(tail)));
}

template <typename Narrow>
ATTNSCOPE_INLINE void narrow_scaled(const float* from, std::int64_t d, float factor,
                                    std::uint16_t* to, const Narrow& narrow) {
  std::int64_t c = 0;
  for (; c + lanes <= d; c += lanes) store_halves(to + c, narrow(load(from + c) * factor));
  if (c == d) return;
  std::uint16_t tail[lanes];
  store_halves(tail, narrow(load(from + c) * factor));
  for (std::int64_t i = c; i < d; ++i) to[i] = tail[i - c];
}

template <typename Byte>
ATTNSCOPE_INLINE std::int64_t offset_of(const HeadView<Byte>& view, std::int64_t token) {
  if (view.item_tokens == 0) return token * view.token_stride;
  return token / view.item_tokens * view.item_stride + token % view.item_tokens * view.token_stride;
}

/// The element at `offset` of a float32 tensor, in place.
ATTNSCOPE_INLINE const float* floats_at(const HeadView<const std::byte>& view,
                                        std::int64_t offset) {
  return reinterpret_cast<const float*>(view.data) + offset;
}

ATTNSCOPE_INLINE const std::uint16_t* halves_at(const HeadView<const std::byte>& view,
                                                std::int64_t offset) {
  return reinterpret_cast<const std::uint16_t*>(view.data) + offset;
}

template <typename Byte>
ATTNSCOPE_INLINE void prefetch_row(const HeadView<Byte>& view, std::int64_t offset,
                                   std::int64_t d) {
  const std::int64_t size = view.dtype == DType::float32 ? 4 : 2;
  for (std::int64_t at = 0; at < d * size; at += 64) {
    __builtin_prefetch(view.data + offset * size + at);
  }
}

/// The d numbers at `offset`, zeros up to `padded`.
ATTNSCOPE_INLINE void load_row(const HeadView<const std::byte>& view, std::int64_t offset,
                               std::int64_t d, std::int64_t padded, float* to) {
  switch (view.dtype) {
    case DType::float32:
      return copy_padded(floats_at(view, offset), d, padded, to);
    case DType::float16:
      return widen_padded(halves_at(view, offset), d, padded, to,
                          [](Halves h) { return from_float16(h); });
    case DType::bfloat16:
      return widen_padded(halves_at(view, offset), d, padded, to,
                          [](Halves h) { return from_bfloat16(h); });
  }
}

/// Writes from[0 ... d) * factor at `offset`. `from` is readable up to a multiple of the lanes.
ATTNSCOPE_INLINE void store_row(const float* from, std::int64_t d, float factor,
                                const HeadView<std::byte>& view, std::int64_t offset) {
  if (view.dtype == DType::float32) {
    float* to = reinterpret_cast<float*>(view.data) + offset;
    std::int64_t c = 0;
    for (; c + lanes <= d; c += lanes) store(to + c, load(from + c) * factor);
    if (c < d) store_first(to + c, d - c, load(from + c) * factor);
    return;
  }
  auto* to = reinterpret_cast<std::uint16_t*>(view.data) + offset;
  if (view.dtype == DType::float16) {
    narrow_scaled(from, d, factor, to, [](Vector v) { return to_float16(v); });
  } else {
    narrow_scaled(from, d, factor, to, [](Vector v) { return to_bfloat16(v); });
  }
}

/// Writes the first `count` lanes, at most all, at `offset`.
ATTNSCOPE_INLINE void store_lanes(Vector v, std::int64_t count, const HeadView<std::byte>& view,
                                  std::int64_t offset) {
  if (count < lanes && view.dtype == DType::float32) {
    store_first(reinterpret_cast<float*>(view.data) + offset, count, v);
    return;
  }
  if (count < lanes) {
    float tail[lanes];
    store(tail, v);
    store_row(tail, count, 1.0f, view, offset);
    return;
  }
  if (view.dtype == DType::float32) {
    store(reinterpret_cast<float*>(view.data) + offset, v);
    return;
  }
  auto* to = reinterpret_cast<std::uint16_t*>(view.data) + offset;
  store_halves(to, view.dtype == DType::float16 ? to_float16(v) : to_bfloat16(v));
}

}  // namespace
}  // namespace attnscope::cpu
