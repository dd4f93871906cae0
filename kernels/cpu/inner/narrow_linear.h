// SPDX-License-Identifier: Apache-2.0
//
// A piece of a linear layer whose products have operands of 8 or 16 bits: rows are narrowed when
// they are copied to the scratch, and weights are stored in groups of 4 bytes per output, the
// operand of one instruction. int8: weights are -127 ... 127. If an instruction multiplies four
// bytes, a row's numbers are q + 32768 in 1 ... 65535; their upper and their lower bytes are
// separate rows of the scratch and are multiplied separately, and the sums of the upper ones are
// too large by 128 times an output's weights. Otherwise one instruction computes two products of 16
// bits, and weights are widened when they are loaded.
#pragma once

#include "kernels/cpu/inner/linear.h"
#include "kernels/cpu/inner/rows.h"

namespace attnscope::cpu {
namespace {

/// Bytes between rows of the scratch; those after `narrow_depth` groups are the row's scale.
constexpr std::int64_t narrow_pitch = linear_pitch * 4;
constexpr std::int64_t group_bytes = 4;
constexpr std::int64_t scale_place = narrow_depth * group_bytes;

typedef std::uint8_t ByteLanes __attribute__((vector_size(lanes)));

/// Rows rounded up to whole tiles of the matrix unit; the scratch has space for them.
constexpr std::int64_t padded_rows(std::int64_t rows) {
  return (rows + narrow_rows_unit - 1) / narrow_rows_unit * narrow_rows_unit;
}

ATTNSCOPE_INLINE float* scale_of_row(std::byte* held, std::int64_t row) {
  return reinterpret_cast<float*>(held + row * narrow_pitch + scale_place);
}

/// Sums of int8, in the memory of those of floats.
ATTNSCOPE_INLINE const std::int32_t* whole_numbers(const float* sums) {
  return reinterpret_cast<const std::int32_t*>(reinterpret_cast<const std::byte*>(sums));
}
ATTNSCOPE_INLINE std::int32_t* whole_numbers(float* sums) {
  return reinterpret_cast<std::int32_t*>(reinterpret_cast<std::byte*>(sums));
}

/// A group of a row, in every lane.
ATTNSCOPE_INLINE Integers spread(const std::byte* group) {
  std::int32_t number;
  __builtin_memcpy(&number, group, sizeof(number));
  Integers lanes_of_it = splat(number);
  // Without it the compiler would split the number as a scalar and broadcast each part.
  asm("" : "+v"(lanes_of_it));
  return lanes_of_it;
}

/// Common code of both forms of int8.
struct WholeNumbers {
  using Sum = Integers;
  static constexpr std::int64_t numbers_a_group = 4;
  static constexpr std::int64_t parts = narrow_parts_of_int8;
  static constexpr float to_integer = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer

  /// The scale of a row, whose largest magnitude becomes `most`. A row with a value that is not
  /// finite has the scale NaN, and so are its results.
  static float scale_for(float most, const float* x, std::int64_t in) {
    Vector largest{}, nonfinite{};
    std::int64_t c = 0;
    const auto see = [&](Vector v) {
      largest = larger(largest, v < Vector{} ? Vector{} - v : v);
      nonfinite += v - v;
    };
    for (; c + lanes <= in; c += lanes) see(load(x + c));
    if (c < in) see(load_first(x + c, in - c, 0.0f));
    return largest_of(largest) / most + sum_of(nonfinite);
  }

  /// Calls put(place, rounded): `count` numbers, and zeros up to `padded`, with `to_integer` added.
  template <typename Put>
  ATTNSCOPE_INLINE static void round(const float* x, std::int64_t count, std::int64_t padded,
                                     float scale, const Put& put) {
    const Vector inverse = splat(scale > 1e-30f ? 1.0f / scale : 0.0f);
    const auto rounded = [&](Vector v) {
      return reinterpret_cast<Bits>(multiply_add(v, inverse, splat(to_integer)));
    };
    std::int64_t c = 0;
    for (; c + lanes <= count; c += lanes) put(c, rounded(load(x + c)));
    if (c < count) put(c, rounded(load_first(x + c, count - c, 0.0f))), c += lanes;
    for (; c < padded; c += lanes) put(c, rounded(Vector{}));
  }
};

#if defined(__AVX512VNNI__)

struct Int8Products : WholeNumbers {
  static constexpr bool parts_are_rows = true;

  static float scale_of(const float* x, std::int64_t in) { return scale_for(32767.0f, x, in); }

  /// Writes the lower bytes `next_part` bytes after the upper ones.
  static void narrow(const float* x, std::int64_t count, std::int64_t padded, float scale,
                     std::byte* to, std::int64_t next_part) {
    const auto put_bytes = [](std::byte* at, Bits q) {
      const ByteLanes bytes = __builtin_convertvector(q, ByteLanes);
      __builtin_memcpy(at, &bytes, sizeof(bytes));
    };
    round(x, count, padded, scale, [&](std::int64_t c, Bits rounded) {
      const Bits q = rounded + 32768u;
      put_bytes(to + c, q >> 8);
      put_bytes(to + next_part + c, q);
    });
  }

  /// An output's weights in each lane.
  using Weights = Integers;

  /// sum + the products of a group of a row.
  ATTNSCOPE_INLINE static Integers add(Integers sum, const std::byte* group, std::int64_t,
                                       Weights w) {
    return reinterpret_cast<Integers>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sum),
                                                          reinterpret_cast<__m512i>(spread(group)),
                                                          reinterpret_cast<__m512i>(w)));
  }

  ATTNSCOPE_INLINE static Vector result(const float* sums, std::int64_t next_part,
                                        const LinearPiece& piece, std::int64_t output,
                                        float scale) {
    const std::int32_t* upper = whole_numbers(sums);
    const Integers above = load(upper) - load(piece.sums_too_much + output);
    const Vector sum = multiply_add(__builtin_convertvector(above, Vector), splat(256.0f),
                                    __builtin_convertvector(load(upper + next_part), Vector));
    return sum * (load(piece.weight_scales + output) * scale);
  }
};

#else

struct Int8Products : WholeNumbers {
  static constexpr bool parts_are_rows = false;

  /// The scale for which no sum of `in` products exceeds 32 bits.
  static float scale_of(const float* x, std::int64_t in) {
    const std::int64_t most = 2147483647 / (127 * in);
    return scale_for(most < 32767 ? static_cast<float>(most) : 32767.0f, x, in);
  }

  typedef std::int16_t Shorts __attribute__((vector_size(lanes * 4)));

  /// The lower 16 bits of the lanes: first of those with even indices, then of the others.
  template <typename Lanes>
  ATTNSCOPE_INLINE static auto evens_before_odds(Lanes q) {
    if constexpr (lanes == 16) {
      return __builtin_shufflevector(q, q, 0, 4, 8, 12, 16, 20, 24, 28, 2, 6, 10, 14, 18, 22, 26,
                                     30);
    } else if constexpr (lanes == 8) {
      return __builtin_shufflevector(q, q, 0, 4, 8, 12, 2, 6, 10, 14);
    } else {
      return __builtin_shufflevector(q, q, 0, 4, 2, 6);
    }
  }

  /// Writes a group's first and third number, and `next_part` bytes later its second and fourth.
  static void narrow(const float* x, std::int64_t count, std::int64_t padded, float scale,
                     std::byte* to, std::int64_t next_part) {
    round(x, count, padded, scale, [&](std::int64_t c, Bits rounded) {
      const auto apart = evens_before_odds(reinterpret_cast<Shorts>(rounded));
      __builtin_memcpy(to + c, &apart, lanes);
      __builtin_memcpy(to + next_part + c, reinterpret_cast<const std::byte*>(&apart) + lanes,
                       lanes);
    });
  }

  /// An output's weights in each lane: first and third, second and fourth, of 16 bits.
  struct Weights {
    ATTNSCOPE_INLINE explicit Weights(Integers w)
        : even(reinterpret_cast<Integers>((reinterpret_cast<Shorts>(w) << 8) >> 8)),
          odd(reinterpret_cast<Integers>(reinterpret_cast<Shorts>(w) >> 8)) {}
    Integers even, odd;
  };

  ATTNSCOPE_INLINE static Integers add(Integers sum, const std::byte* group, std::int64_t next_part,
                                       const Weights& w) {
    return sum + pairs(spread(group), w.even) + pairs(spread(group + next_part), w.odd);
  }

  ATTNSCOPE_INLINE static Integers pairs(Integers a, Integers b) {
#if defined(__AVX512BW__)
    return reinterpret_cast<Integers>(
        _mm512_madd_epi16(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
    return reinterpret_cast<Integers>(
        _mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#else
    return reinterpret_cast<Integers>(
        _mm_madd_epi16(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#endif
  }

  ATTNSCOPE_INLINE static Vector result(const float* sums, std::int64_t /*next_part*/,
                                        const LinearPiece& piece, std::int64_t output,
                                        float scale) {
    return __builtin_convertvector(load(whole_numbers(sums)), Vector) *
           (load(piece.weight_scales + output) * scale);
  }
};

#endif

struct Bfloat16Products {
  using Sum = Vector;
  static constexpr std::int64_t numbers_a_group = 2;
  static constexpr std::int64_t parts = 1;
  static constexpr bool parts_are_rows = true;

  static float scale_of(const float* /*x*/, std::int64_t /*in*/) { return 1.0f; }

  static void narrow(const float* x, std::int64_t count, std::int64_t padded, float /*scale*/,
                     std::byte* to, std::int64_t /*next_part*/) {
    const auto put = [&](std::int64_t c, Vector v) {
      const Halves halves = to_bfloat16(v);
      __builtin_memcpy(to + 2 * c, &halves, sizeof(halves));
    };
    std::int64_t c = 0;
    for (; c + lanes <= count; c += lanes) put(c, load(x + c));
    if (c < count) put(c, load_first(x + c, count - c, 0.0f)), c += lanes;
    for (; c < padded; c += lanes) put(c, Vector{});
  }

#if defined(__AVX512BF16__)
  /// An output's weights in each lane.
  using Weights = Integers;

  ATTNSCOPE_INLINE static Vector add(Vector sum, const std::byte* group, std::int64_t /*next_part*/,
                                     Weights w) {
    return reinterpret_cast<Vector>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum),
                                                     reinterpret_cast<__m512bh>(spread(group)),
                                                     reinterpret_cast<__m512bh>(w)));
  }
#else
  /// An output's weights in each lane, widened.
  struct Weights {
    ATTNSCOPE_INLINE explicit Weights(Integers pair)
        : first(first_of(pair)), second(second_of(pair)) {}
    Vector first, second;
  };
  ATTNSCOPE_INLINE static Vector first_of(Integers pair) {
    return reinterpret_cast<Vector>(pair << 16);
  }
  ATTNSCOPE_INLINE static Vector second_of(Integers pair) {
    return reinterpret_cast<Vector>(reinterpret_cast<Bits>(pair) & 0xffff0000u);
  }

  ATTNSCOPE_INLINE static Vector add(Vector sum, const std::byte* group, std::int64_t /*next_part*/,
                                     const Weights& w) {
    const Integers a = spread(group);
    return multiply_add(second_of(a), w.second, multiply_add(first_of(a), w.first, sum));
  }
#endif

  ATTNSCOPE_INLINE static Vector result(const float* sums, std::int64_t /*next_part*/,
                                        const LinearPiece& /*piece*/, std::int64_t /*output*/,
                                        float /*scale*/) {
    return load(sums);
  }
};

template <typename Products>
ATTNSCOPE_INLINE typename Products::Sum load_sum(const float* p) {
  if constexpr (__is_same(typename Products::Sum, Vector)) {
    return load(p);
  } else {
    return load(whole_numbers(p));
  }
}
ATTNSCOPE_INLINE void store_sum(float* p, Vector v) {
  store(p, v);
}
ATTNSCOPE_INLINE void store_sum(float* p, Integers v) {
  store(whole_numbers(p), v);
}

/// Narrows some groups of the piece's rows to bytes, and writes the scales with the first of them.
template <typename Products>
ATTNSCOPE_INLINE void gather_narrow(const LinearPiece& piece, std::int64_t first_group,
                                    std::int64_t groups, std::int64_t rows, std::byte* held) {
  const std::int64_t first = first_group * Products::numbers_a_group;
  const std::int64_t padded = groups * Products::numbers_a_group;
  const std::int64_t left = piece.in - first;
  for (std::int64_t r = 0; r < piece.rows; ++r) {
    const float* x = piece.x + r * piece.x_stride;
    float* scale = scale_of_row(held, r);
    if (first == 0) *scale = Products::scale_of(x, piece.in);
    Products::narrow(x + first, left < padded ? left : padded, padded, *scale,
                     held + r * narrow_pitch, rows * narrow_pitch);
  }
}

#if defined(__AMX_INT8__) && defined(__AMX_BF16__)

struct alignas(64) TileShapes {
  std::uint8_t palette = 1, start = 0, reserved[14] = {};
  std::uint16_t bytes_a_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

/// Tiles 0 to 3 are sums, 4 and 5 rows, 6 and 7 weights.
template <typename Products, bool two>
ATTNSCOPE_INLINE void multiply_tiles() {
  if constexpr (Products::numbers_a_group == 4) {
    _tile_dpbusd(0, 4, 6);
    _tile_dpbusd(1, 4, 7);
    if constexpr (two) {
      _tile_dpbusd(2, 5, 6);
      _tile_dpbusd(3, 5, 7);
    }
  } else {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    if constexpr (two) {
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
  }
}

/// Sums of 16 or 32 rows and a panel of outputs over some groups.
template <typename Products, bool two>
ATTNSCOPE_INLINE void tiles_of_panel(const std::byte* rows, const std::byte* weights,
                                     std::int64_t groups, bool begins, float* sums) {
  constexpr std::int64_t groups_at_once = 16;
  constexpr std::int64_t panel_bytes = linear_panel * group_bytes;
  constexpr std::int64_t half = lanes;  // of a panel: a tile's outputs
  float* lower = sums + 16 * linear_panel;
  if (begins) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  } else {
    _tile_loadd(0, sums, panel_bytes);
    _tile_loadd(1, sums + half, panel_bytes);
    if constexpr (two) {
      _tile_loadd(2, lower, panel_bytes);
      _tile_loadd(3, lower + half, panel_bytes);
    }
  }
  for (std::int64_t g = 0; g < groups; g += groups_at_once) {
    _tile_loadd(4, rows + g * group_bytes, narrow_pitch);
    _tile_loadd(6, weights + g * panel_bytes, panel_bytes);
    _tile_loadd(7, weights + g * panel_bytes + half * group_bytes, panel_bytes);
    if constexpr (two) _tile_loadd(5, rows + 16 * narrow_pitch + g * group_bytes, narrow_pitch);
    multiply_tiles<Products, two>();
  }
  _tile_stored(0, sums, panel_bytes);
  _tile_stored(1, sums + half, panel_bytes);
  if constexpr (two) {
    _tile_stored(2, lower, panel_bytes);
    _tile_stored(3, lower + half, panel_bytes);
  }
}

template <typename Products>
ATTNSCOPE_INLINE void narrow_panel(const std::byte* held, std::int64_t /*next_part*/,
                                   std::int64_t rows, const std::byte* weights, std::int64_t groups,
                                   bool begins, float* sums) {
  for (std::int64_t row = 0; row < rows; row += 32) {
    const std::byte* from = held + row * narrow_pitch;
    float* to = sums + row * linear_panel;
    if (rows - row > 16) {
      tiles_of_panel<Products, true>(from, weights, groups, begins, to);
    } else {
      tiles_of_panel<Products, false>(from, weights, groups, begins, to);
    }
  }
}

#else

/// The registers are full with two vectors of sums per row and two of weights, which become four if
/// no instruction multiplies them without widening.
template <typename Products>
constexpr int narrow_tile_rows = lanes < 16
                                     ? 4
                                     : (sizeof(typename Products::Weights) == sizeof(Vector) ? 14
                                                                                             : 12);
/// Like linear_tile_depth, in groups.
constexpr std::int64_t narrow_tile_groups = lanes == 16 ? narrow_depth : 128;

/// Like linear_chain, in groups; sums of integers are exact in a chain of any length.
template <typename Products>
constexpr std::int64_t narrow_chain = __is_same(typename Products::Sum, Vector)
                                          ? linear_chain / Products::numbers_a_group
                                          : narrow_tile_groups;

/// Sums of a tile over some groups; rows of sums are linear_panel apart.
template <typename Products, int rows>
[[gnu::noinline]] void narrow_tile(const std::byte* held, std::int64_t next_part,
                                   const std::byte* weights, std::int64_t groups, bool begins,
                                   float* sums) {
  using Weights = typename Products::Weights;
  for (std::int64_t begin = 0; begin < groups; begin += narrow_chain<Products>) {
    const std::int64_t end =
        groups - begin < narrow_chain<Products> ? groups : begin + narrow_chain<Products>;
    typename Products::Sum sum[rows][2] = {};
    for (std::int64_t g = begin; g < end; ++g) {
      const auto* w =
          reinterpret_cast<const std::int32_t*>(weights + g * linear_panel * group_bytes);
      const auto first = Weights(load(w)), second = Weights(load(w + lanes));
#pragma GCC unroll 14
      for (int r = 0; r < rows; ++r) {
        const std::byte* group = held + r * narrow_pitch + g * group_bytes;
        sum[r][0] = Products::add(sum[r][0], group, next_part, first);
        sum[r][1] = Products::add(sum[r][1], group, next_part, second);
      }
    }
    const bool starts = begins && begin == 0;
#pragma GCC unroll 14
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v) {
        float* to = sums + r * linear_panel + v * lanes;
        store_sum(to, starts ? sum[r][v] : load_sum<Products>(to) + sum[r][v]);
      }
    }
  }
}

/// A tile of `count` rows, 1 to `rows`.
template <typename Products, int rows = narrow_tile_rows<Products> >
ATTNSCOPE_INLINE void narrow_tile_of(std::int64_t count, const std::byte* held,
                                     std::int64_t next_part, const std::byte* weights,
                                     std::int64_t groups, bool begins, float* sums) {
  if constexpr (rows > 1) {
    if (count < rows) {
      return narrow_tile_of<Products, rows - 1>(count, held, next_part, weights, groups, begins,
                                                sums);
    }
  }
  narrow_tile<Products, rows>(held, next_part, weights, groups, begins, sums);
}

template <typename Products>
ATTNSCOPE_INLINE void narrow_panel(const std::byte* held, std::int64_t next_part, std::int64_t rows,
                                   const std::byte* weights, std::int64_t groups, bool begins,
                                   float* sums) {
  const std::int64_t tiles = (rows - 1) / narrow_tile_rows<Products> + 1;
  for (std::int64_t output = 0; output < linear_panel; output += 2 * lanes) {
    for (std::int64_t g = 0; g < groups; g += narrow_tile_groups) {
      const std::int64_t count = groups - g < narrow_tile_groups ? groups - g : narrow_tile_groups;
      for (std::int64_t t = 0; t < tiles; ++t) {
        const std::int64_t row = t * rows / tiles, end = (t + 1) * rows / tiles;
        narrow_tile_of<Products>(end - row, held + row * narrow_pitch + g * group_bytes, next_part,
                                 weights + (g * linear_panel + output) * group_bytes, count,
                                 begins && g == 0, sums + row * linear_panel + output);
      }
    }
  }
}

#endif

template <typename Products>
ATTNSCOPE_INLINE void narrow_piece(const LinearPiece& piece) {
  // Distance from a row's upper part to its lower part.
  const std::int64_t next = Products::parts == 1 ? piece.rows : padded_rows(piece.rows);
  const std::int64_t used = (Products::parts - 1) * next + piece.rows, rows = padded_rows(used);
  const std::int64_t multiplied = Products::parts_are_rows ? used : piece.rows;
  auto* held = reinterpret_cast<std::byte*>(piece.scratch);
  float* sums = piece.scratch + rows * linear_pitch;  // [panel][row][output]
#if defined(__AMX_INT8__) && defined(__AMX_BF16__)
  const TileShapes shapes;
  _tile_loadconfig(&shapes);
#endif
  for (std::int64_t first = 0; first < piece.groups; first += narrow_depth) {
    const std::int64_t left = piece.groups - first;
    const std::int64_t depth = left < narrow_depth ? left : narrow_depth;
    if (!piece.in_scratch) gather_narrow<Products>(piece, first, depth, next, held);
    for (std::int64_t panel = 0; panel * linear_panel < piece.outputs; ++panel) {
      narrow_panel<Products>(
          held, next * narrow_pitch, multiplied,
          piece.weights + (panel * piece.groups + first) * linear_panel * group_bytes, depth,
          first == 0, sums + panel * rows * linear_panel);
    }
  }
#if defined(__AMX_INT8__) && defined(__AMX_BF16__)
  _tile_release();
#endif
  finish_piece(piece, [&](std::int64_t r, std::int64_t o) {
    return Products::result(sums + (o / linear_panel * rows + r) * linear_panel + o % linear_panel,
                            next * linear_panel, piece, o, *scale_of_row(held, r));
  });
}

}  // namespace
}  // namespace attnscope::cpu
