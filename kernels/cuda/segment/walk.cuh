#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Forward for narrow windows and 16-bit numbers (kernels/cuda/walk_list.h): a warp walks along rows
// in strips of 16 and holds all that a strip needs in registers - the keys and values of its window
// and of the globals in tiles of 8, all scores at once. One maximum, nothing rescaled; no shared
// memory and no barrier. Scores are in units of log2.
//
// Global memory is read as the tensor cores want it. A product sums over its contraction in any
// order, so lane 4 g + t takes the same columns 8 t ... 8 t + 7 of a query and of a key as its
// share: one 16-byte load a row and 32 columns. Of values it takes columns C g / 8 ... of the rows
// 2 t and 2 t + 1, and byte permutes make the fragments' pairs; so column c of accumulator n stands
// for column C c / 8 + n of the head, a lane holds neighbouring ones, and rows leave in 16-byte
// stores. A tile that the next strip sees, too, stays.
//
//   keys of a strip    row 0 - radius ... row 0 + 16 + radius: tiles 0 ... tiles - 1
//   rows g             see tiles 0 ... tiles - 2 alone (h = 0)
//   rows g + 8         see tiles 1 ... tiles - 1 alone (h = 1)
//
// A weight of 0 times NaN is NaN: a value that is not finite becomes 0 when it is read, and its key is
// remembered; the weights of rows that see it are NaN.

#include "kernels/cuda/segment/merged_row.cuh"
#include "kernels/cuda/segment/slab.cuh"

namespace attnscope::cuda {

inline constexpr int walk_warps = 2;  // of a block; they have nothing in common

template <bool Far, bool Many>
struct WalkTiles {
  static constexpr int radius = radius_of(Far);
  static constexpr int of_window = (strip_tokens + 2 * radius) / 8;
  static constexpr int of_globals = most_globals(Many) / 8;
  static constexpr int of_wide = most_wide_rows(Many) / 8;
  static constexpr int of_row = of_globals + of_window - 1;  // that a row may see
};

/// A lane's share, from byte `share` on, of a tensor's rows of one head, numbered from a token on
/// with which they lie in one strided run.
template <typename Byte>
struct RowsFrom {
  Byte* base;
  int stride;

  __device__ __forceinline__ RowsFrom(const DeviceTensor<Byte>& tensor, int head,
                                      const Place& origin, int share)
      : base(HeadRows<Byte>(tensor, head).at(origin) + share),
        stride(static_cast<int>(tensor.token_stride)) {}

  __device__ __forceinline__ Byte* at(int row) const {
    return row_at(base, row, stride);
  }
};

template <typename Vector>
__device__ __forceinline__ Vector load(const std::byte* from) {
  return __ldg(reinterpret_cast<const Vector*>(from));
}

/// A lane's share of a row of queries or keys.
template <int Columns>
struct RowShare {
  static constexpr int pieces = Columns / 32;
  uint4 piece[pieces];

  /// Where in a row it begins.
  static __device__ __forceinline__ int begin() { return 16 * (static_cast<int>(threadIdx.x) & 3); }

  __device__ __forceinline__ void read(const std::byte* share) {
#pragma unroll
    for (int p = 0; p < pieces; ++p) piece[p] = load<uint4>(share + 64 * p);
  }
  __device__ __forceinline__ void set_zero() {
#pragma unroll
    for (int p = 0; p < pieces; ++p) piece[p] = uint4{0, 0, 0, 0};
  }
  __device__ __forceinline__ void negate() {
    constexpr std::uint32_t signs = 0x80008000u;
#pragma unroll
    for (int p = 0; p < pieces; ++p) {
      piece[p].x ^= signs;
      piece[p].y ^= signs;
      piece[p].z ^= signs;
      piece[p].w ^= signs;
    }
  }
};

/// s += rows times keys: `low` are rows g, `high` rows g + 8.
template <typename T, int Columns>
__device__ __forceinline__ void add_scores(float (&s)[4], const RowShare<Columns>& low,
                                           const RowShare<Columns>& high,
                                           const RowShare<Columns>& keys) {
#pragma unroll
  for (int p = 0; p < RowShare<Columns>::pieces; ++p) {
    const uint4 a = low.piece[p], b = high.piece[p], k = keys.piece[p];
    multiply_add<T>(s, {a.x, b.x, a.y, b.y}, k.x, k.y);
    multiply_add<T>(s, {a.z, b.z, a.w, b.w}, k.z, k.w);
  }
}

/// The values of 8 keys; pair n holds keys 2 t (low) and 2 t + 1 of column Columns / 8 * g + n.
template <int Columns>
struct ValueTile {
  static constexpr int pairs = Columns / 8;
  std::uint32_t pair[pairs];

  /// Where in a row the lane's share begins.
  static __device__ __forceinline__ int begin() {
    return 2 * pairs * ((static_cast<int>(threadIdx.x) & 31) >> 2);
  }

  __device__ __forceinline__ void read(const std::byte* first, const std::byte* second) {
    if constexpr (pairs == 4) {
      const auto a = load<uint2>(first), b = load<uint2>(second);
      set(0, a.x, b.x);
      set(2, a.y, b.y);
    } else {
      const auto a = load<uint4>(first), b = load<uint4>(second);
      set(0, a.x, b.x);
      set(2, a.y, b.y);
      set(4, a.z, b.z);
      set(6, a.w, b.w);
    }
  }

  template <typename T>
  [[nodiscard]] __device__ __forceinline__ std::uint32_t trace(std::uint32_t before) const {
#pragma unroll
    for (int n = 0; n < pairs; ++n) before = trace_non_finite<T>(pair[n], before);
    return before;
  }

  /// Sets numbers that are not finite to 0. Returns a bit for each of the lane's two keys: whether
  /// it has such a number, in any column. By all lanes of the warp.
  template <typename T>
  __device__ __forceinline__ unsigned clean() {
    std::uint32_t halves = 0;
#pragma unroll
    for (int n = 0; n < pairs; ++n) {
      const std::uint32_t bad = non_finite_halves<T>(pair[n]);
      pair[n] &= ~bad;
      halves |= bad;
    }
#pragma unroll
    for (int distance = 4; distance < 32; distance *= 2) {
      halves |= __shfl_xor_sync(all_lanes, halves, distance);
    }
    return (halves & 1u) | (halves >> 16 & 1u) << 1;
  }

 private:
  __device__ __forceinline__ void set(int n, std::uint32_t a, std::uint32_t b) {
    pair[n] = __byte_perm(a, b, 0x5410);
    pair[n + 1] = __byte_perm(a, b, 0x7632);
  }
};

template <int Columns>
struct WalkTile {
  RowShare<Columns> keys;
  ValueTile<Columns> values;

  /// Keys `key(0)` ... `key(7)`, which all exist.
  template <typename Key>
  __device__ __forceinline__ void read(const RowsFrom<const std::byte>& k,
                                       const RowsFrom<const std::byte>& v, const Key& key) {
    const int lane = static_cast<int>(threadIdx.x) & 31;
    const int column = 2 * (lane & 3);
    keys.read(k.at(key(lane >> 2)));
    values.read(v.at(key(column)), v.at(key(column + 1)));
  }
};

/// Cleans tiles [First, First + Count), where need be, and sets the bits 2 i, 2 i + 1 of `spoilt` for
/// what is found in tile i. By all lanes of the warp.
template <typename T, int First, int Count, int Columns, int Tiles>
__device__ __forceinline__ void clean(WalkTile<Columns> (&tiles)[Tiles], unsigned& spoilt) {
  std::uint32_t trace = 0;
#pragma unroll
  for (int i = First; i < First + Count; ++i) trace = tiles[i].values.template trace<T>(trace);
  if (__any_sync(all_lanes, trace != 0 ? 1 : 0) == 0) return;
#pragma unroll
  for (int i = First; i < First + Count; ++i) {
    spoilt |= tiles[i].values.template clean<T>() << 2 * i;
  }
}

/// A pair of weights, with NaN for the keys that bits 0 and 1 stand for.
__device__ __forceinline__ std::uint32_t with_nan(std::uint32_t weights, unsigned bits) {
  return weights | ((bits & 1u) != 0 ? 0x7fffu : 0u) | ((bits & 2u) != 0 ? 0x7fff0000u : 0u);
}

/// Rows that see all keys which pass by: one softmax over a walk, whose maximum lags behind, so
/// that sums are rarely rescaled. Their weights are transposed for the product with the values, so
/// that values are the factor of 16 rows: o[u][m] are columns 2 m, 2 m + 1 (+ Columns / 8 * g) of
/// rows 8 u + 2 t and the next.
template <typename T, int Columns, int Tiles>
struct WideRows {
  static constexpr float slack = 8.0f;  // of a maximum: weights are at most 2^8

  RowShare<Columns> q[Tiles];  // rows g of each tile
  float maximum[Tiles];        // of rows g
  float sum[Tiles];            // this lane's share
  float o[Tiles][Columns / 16][4];

  /// Of `count` rows; the others are 0.
  template <typename Row>
  __device__ __forceinline__ void begin(int count, const Row& row) {
    const int lane = static_cast<int>(threadIdx.x) & 31;
#pragma unroll
    for (int u = 0; u < Tiles; ++u) {
      const int number = 8 * u + (lane >> 2);
      q[u].set_zero();
      if (number < count) q[u].read(row(number) + RowShare<Columns>::begin());
      maximum[u] = minus_infinity;
      sum[u] = 0.0f;
#pragma unroll
      for (int m = 0; m < Columns / 16; ++m) o[u][m][0] = o[u][m][1] = o[u][m][2] = o[u][m][3] = 0;
    }
  }

  /// Two tiles of keys; bits 0, 1 of `seen` and `spoilt` are the lane's keys of the first, 2, 3 of
  /// the second. By all lanes of the warp.
  __device__ __forceinline__ void take(const WalkTile<Columns>& first,
                                       const WalkTile<Columns>& second, unsigned seen,
                                       unsigned spoilt, float factor) {
    float s[2][4] = {};
    RowShare<Columns> none;
    none.set_zero();
    const RowShare<Columns>& high = Tiles == 2 ? q[Tiles - 1] : none;
    add_scores<T>(s[0], q[0], high, first.keys);
    add_scores<T>(s[1], q[0], high, second.keys);
    bool rises = false;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int e = 0; e < 2 * Tiles; ++e) {
        s[i][e] = (seen >> (2 * i + (e & 1)) & 1u) != 0 ? s[i][e] * factor : minus_infinity;
        rises = rises || s[i][e] > maximum[e >> 1] + slack;
      }
    }
    if (__any_sync(all_lanes, rises ? 1 : 0) != 0) raise(s);
    std::uint32_t weights[Tiles][2];
#pragma unroll
    for (int u = 0; u < Tiles; ++u) {
      const float base = maximum[u] == minus_infinity ? 0.0f : maximum[u];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const float low = exp2_approx(s[i][2 * u] - base);
        const float high_key = exp2_approx(s[i][2 * u + 1] - base);
        sum[u] += low + high_key;
        weights[u][i] = pair_of<T>(low, high_key);
      }
    }
    if ((seen & spoilt) != 0) {
#pragma unroll
      for (int u = 0; u < Tiles; ++u) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          weights[u][i] = with_nan(weights[u][i], (seen & spoilt) >> 2 * i);
        }
      }
    }
    __syncwarp();
#pragma unroll
    for (int m = 0; m < Columns / 16; ++m) {
      const std::uint32_t a[4] = {first.values.pair[2 * m], first.values.pair[2 * m + 1],
                                  second.values.pair[2 * m], second.values.pair[2 * m + 1]};
#pragma unroll
      for (int u = 0; u < Tiles; ++u) multiply_add<T>(o[u][m], a, weights[u][0], weights[u][1]);
    }
  }

  /// Leaves sums, maximum and sum of weights in the partial rows row(r), r < count.
  template <typename Row>
  __device__ __forceinline__ void leave(int count, const Row& row) const {
    const int lane = static_cast<int>(threadIdx.x) & 31;
    const int g = lane >> 2;
    const int t = lane & 3;
#pragma unroll
    for (int u = 0; u < Tiles; ++u) {
      float total = sum[u];
      total += __shfl_xor_sync(all_lanes, total, 1);
      total += __shfl_xor_sync(all_lanes, total, 2);
      if (t == 0 && 8 * u + g < count) {
        float* to = row(8 * u + g) + Columns;
        to[0] = maximum[u];
        to[1] = total;
      }
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int number = 8 * u + 2 * t + e;
        if (number >= count) continue;
        float* to = row(number) + Columns / 8 * g;
#pragma unroll
        for (int m = 0; m < Columns / 16; m += 2) {
          *reinterpret_cast<float4*>(to + 2 * m) =
              float4{o[u][m][e], o[u][m][2 + e], o[u][m + 1][e], o[u][m + 1][2 + e]};
        }
      }
    }
  }

 private:
  __device__ __forceinline__ void raise(const float (&s)[2][4]) {
    const int t = opaque(static_cast<int>(threadIdx.x)) & 3;
#pragma unroll
    for (int u = 0; u < Tiles; ++u) {
      float largest = maximum[u];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        largest = fmaxf(largest, fmaxf(s[i][2 * u], s[i][2 * u + 1]));
      }
      largest = fmaxf(largest, __shfl_xor_sync(all_lanes, largest, 1));
      largest = fmaxf(largest, __shfl_xor_sync(all_lanes, largest, 2));
      // A row that has seen nothing yet must not subtract infinities.
      const float rescale =
          largest == minus_infinity ? 1.0f : exp2_approx(maximum[u] - largest);
      maximum[u] = largest;
      sum[u] *= rescale;
      const float even = __shfl_sync(all_lanes, rescale, 8 * t);
      const float odd = __shfl_sync(all_lanes, rescale, 8 * t + 4);
#pragma unroll
      for (int m = 0; m < Columns / 16; ++m) {
        o[u][m][0] *= even;
        o[u][m][1] *= odd;
        o[u][m][2] *= even;
        o[u][m][3] *= odd;
      }
    }
  }
};

/// What each of a lane's two rows sees: bits 2 i, 2 i + 1 are its columns of tile i of the row, the
/// globals' tiles first.
struct WalkSight {
  unsigned row[2];
};

template <typename Tiles>
__device__ __forceinline__ WalkSight sight_of(int globals, int window) {
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int column = 2 * (lane & 3);
  WalkSight sight{};
#pragma unroll
  for (int i = 0; i < Tiles::of_globals; ++i) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      if (8 * i + column + e < globals) sight.row[0] |= 1u << (2 * i + e);
    }
  }
  sight.row[1] = sight.row[0];
  // Both of the lane's rows are opposite the same columns of their own tiles.
  unsigned band = 0;
#pragma unroll
  for (int i = 0; i + 1 < Tiles::of_window; ++i) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int distance = 8 * i + column + e - Tiles::radius - (lane >> 2);
      if (distance >= -window && distance <= window) band |= 1u << (2 * i + e);
    }
  }
  if (window < 0) band = 0;
  sight.row[0] |= band << 2 * Tiles::of_globals;
  sight.row[1] |= band << 2 * Tiles::of_globals;
  return sight;
}

/// Bits of the window's tiles as those of each row.
template <typename Tiles>
__device__ __forceinline__ WalkSight by_rows(unsigned window) {
  constexpr unsigned of_row = (1u << 2 * (Tiles::of_window - 1)) - 1u;
  return {{(window & of_row) << 2 * Tiles::of_globals, window >> 2 << 2 * Tiles::of_globals}};
}

/// A sight without the keys before `begin` and from `end` on; the window begins at key `first`.
template <typename Tiles>
__device__ __forceinline__ WalkSight cut_sight(const WalkSight& whole, int first, int begin,
                                               int end) {
  const int column = opaque(2 * (static_cast<int>(threadIdx.x) & 3));
  unsigned missing = 0;
#pragma unroll
  for (int i = 0; i < Tiles::of_window; ++i) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int key = first + 8 * i + column + e;
      if (key < begin || key >= end) missing |= 1u << (2 * i + e);
    }
  }
  const WalkSight cut = by_rows<Tiles>(missing);
  return {{whole.row[0] & ~cut.row[0], whole.row[1] & ~cut.row[1]}};
}

/// The scores and weights of a strip.
template <typename T, int Columns, typename Tiles>
struct WalkStrip {
  static constexpr int globals = Tiles::of_globals;
  static constexpr int window = Tiles::of_window;

  float maximum[2];  // of rows g and g + 8, in units of log2; whole sums
  float sum[2];
  std::uint32_t weights[2][Tiles::of_row];  // pairs, by tiles of the row
  float o[Columns / 8][4];

  /// Weights are relative to the row's maximum.
  __device__ __forceinline__ void weigh(const RowShare<Columns>& low, const RowShare<Columns>& high,
                                        const WalkTile<Columns> (&of_globals)[globals],
                                        const WalkTile<Columns> (&of_window)[window],
                                        const WalkSight& sight, float factor) {
    float s[globals + window][4] = {};
#pragma unroll
    for (int i = 0; i < globals; ++i) add_scores<T>(s[i], low, high, of_globals[i].keys);
#pragma unroll
    for (int i = 0; i < window; ++i) add_scores<T>(s[globals + i], low, high, of_window[i].keys);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float largest = minus_infinity;
#pragma unroll
      for (int i = 0; i < Tiles::of_row; ++i) {
        float(&pair)[4] = s[i < globals ? i : i + h];
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& score = pair[2 * h + e];
          score = (sight.row[h] >> (2 * i + e) & 1u) != 0 ? score : minus_infinity;
          largest = fmaxf(largest, score);
        }
      }
      largest = fmaxf(largest, __shfl_xor_sync(all_lanes, largest, 1));
      largest = fmaxf(largest, __shfl_xor_sync(all_lanes, largest, 2));
      maximum[h] = largest * factor;
      // A row that sees nothing must not subtract infinities.
      const float base = largest == minus_infinity ? 0.0f : maximum[h];
      float total = 0.0f;
#pragma unroll
      for (int i = 0; i < Tiles::of_row; ++i) {
        const float(&pair)[4] = s[i < globals ? i : i + h];
        const float first = exp2_approx(fmaf(pair[2 * h], factor, -base));
        const float second = exp2_approx(fmaf(pair[2 * h + 1], factor, -base));
        total += first + second;
        weights[h][i] = pair_of<T>(first, second);
      }
      total += __shfl_xor_sync(all_lanes, total, 1);
      sum[h] = total + __shfl_xor_sync(all_lanes, total, 2);
    }
  }

  /// Keys whose values were not finite make NaN of the rows that see them.
  __device__ __forceinline__ void spoil(const WalkSight& sight, unsigned of_globals,
                                        unsigned of_window) {
    const WalkSight spoilt = by_rows<Tiles>(of_window);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const unsigned seen = sight.row[h] & (of_globals | spoilt.row[h]);
#pragma unroll
      for (int i = 0; i < Tiles::of_row; ++i) weights[h][i] = with_nan(weights[h][i], seen >> 2 * i);
    }
  }

  /// By all lanes of the warp.
  __device__ __forceinline__ void accumulate(const WalkTile<Columns> (&of_globals)[globals],
                                             const WalkTile<Columns> (&of_window)[window]) {
#pragma unroll
    for (int n = 0; n < Columns / 8; ++n) {
      o[n][0] = o[n][1] = o[n][2] = o[n][3] = 0.0f;
#pragma unroll
      for (int i = 0; i < globals; i += 2) {
        multiply_add<T>(o[n], {weight(0, i), weight(1, i), weight(0, i + 1), weight(1, i + 1)},
                        of_globals[i].values.pair[n], of_globals[i + 1].values.pair[n]);
      }
#pragma unroll
      for (int i = 0; i < window; i += 2) {
        const int tile = globals + i;
        const int next = i + 1 < window ? i + 1 : i;  // of weights 0 if there is none
        multiply_add<T>(
            o[n], {weight(0, tile), weight(1, tile), weight(0, tile + 1), weight(1, tile + 1)},
            of_window[i].values.pair[n], of_window[next].values.pair[n]);
      }
    }
  }

  /// Where in a row of the output the lane's share begins.
  static __device__ __forceinline__ int begin() {
    return Columns / 2 * (static_cast<int>(threadIdx.x) & 3);
  }
  /// Writes the lane's share of a row of half h.
  __device__ __forceinline__ void store(int h, std::byte* share) const {
    const float inverse = sum[h] == 0.0f ? 0.0f : reciprocal_approx(sum[h]);
    constexpr int half = Columns / 8;  // columns of accumulator column 2 t, then of 2 t + 1
#pragma unroll
    for (int first = 0; first < 2 * half; first += 8) {
      std::uint32_t pairs[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int c = first + 2 * i;
        pairs[i] = pair_of<T>(o[c % half][2 * h + c / half] * inverse,
                              o[c % half + 1][2 * h + c / half] * inverse);
      }
      *reinterpret_cast<uint4*>(share + 2 * first) = uint4{pairs[0], pairs[1], pairs[2], pairs[3]};
    }
  }

  [[nodiscard]] __device__ __forceinline__ float log_sum_exp_of(int h) const {
    return sum[h] == 0.0f ? minus_infinity : (maximum[h] + log2_approx(sum[h])) * ln_2;
  }

 private:
  /// Of a tile, the globals first; 0 where half h does not see it.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t weight(int h, int tile) const {
    const int place = tile < globals ? tile : tile - h;
    const bool is_seen = tile < globals || (place >= globals && place < Tiles::of_row);
    return is_seen ? weights[h][is_seen ? place : 0] : 0u;
  }
};

/// Scores are multiplied by it after the maximum is known, so that it is positive; for a scale
/// below 0 queries change their signs, and of scale 0 remains enough to tell what is not seen.
__device__ __forceinline__ float positive_factor(float scale) {
  constexpr float least = 1e-30f;
  const float factor = fabsf(scale * log2_e);
  return factor < least ? least : factor;
}

/// Registers a thread: at head dimension 32 and windows of up to 4 tokens an SM has 16 warps. No
/// instantiation spills.
template <int Columns, bool Far, bool Many>
inline constexpr int walk_registers = Columns == 64  ? (Far || Many ? 255 : 200)
                                      : Far && Many ? 224
                                      : Far || Many ? 168
                                                    : 128;

template <typename T, int Columns, bool Far, bool Many>
__global__ void __maxnreg__((walk_registers<Columns, Far, Many>))
    segment_walk_kernel(WalkArguments call) {
  using Tiles = WalkTiles<Far, Many>;
  using Tile = WalkTile<Columns>;
  using Strip = WalkStrip<T, Columns, Tiles>;
  constexpr int window_tiles = Tiles::of_window;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int g = lane >> 2;
  const int t = lane & 3;
  const int number =
      static_cast<int>(blockIdx.x) * walk_warps + (static_cast<int>(threadIdx.x) >> 5);
  if (number >= call.walks * call.heads) return;
  const WorkWalk& walk = call.list.walks[number / call.heads];
  const int head = number % call.heads;
  const float factor = positive_factor(call.scale);
  const bool negative = call.scale < 0.0f;

  const auto place = [&](int token) { return Place(call.items, token); };
  Tile globals[Tiles::of_globals];
#pragma unroll
  for (int i = 0; i < Tiles::of_globals; ++i) {
    const auto row = [&](const Input& tensor, int column) {
      const int position = min(8 * i + column, walk.globals.count - 1);
      const int token = position < 0 ? walk.rows.begin
                                     : token_of(walk.globals, call.list.indices, position);
      return HeadRows<const std::byte>(tensor, head).at(place(token));
    };
    globals[i].keys.read(row(call.k, g) + RowShare<Columns>::begin());
    globals[i].values.read(row(call.v, 2 * t) + ValueTile<Columns>::begin(),
                           row(call.v, 2 * t + 1) + ValueTile<Columns>::begin());
  }
  unsigned spoilt_globals = 0;
  clean<T, 0, Tiles::of_globals>(globals, spoilt_globals);
  const WalkSight whole = sight_of<Tiles>(walk.globals.count, walk.window);

  WideRows<T, Columns, Tiles::of_wide> wide;
  const bool has_wide = walk.wide.count > 0;
  if (has_wide) {
    wide.begin(walk.wide.count, [&](int row) {
      return HeadRows<const std::byte>(call.q, head).at(place(walk.wide.begin + row));
    });
    if (negative) {
#pragma unroll
      for (int u = 0; u < Tiles::of_wide; ++u) wide.q[u].negate();
    }
    if (walk.wide_takes_globals != 0) {
#pragma unroll
      for (int i = 0; i < Tiles::of_globals; i += 2) {
        wide.take(globals[i], globals[i + 1], whole.row[0] >> 2 * i & 0xfu,
                  spoilt_globals >> 2 * i, factor);
      }
    }
  }

  // From here on tokens are counted from the walk's first row.
  const int rows = walk.rows.count;
  if (rows > 0) {
    const Place origin = place(walk.rows.begin);
    const RowsFrom<const std::byte> q(call.q, head, origin, RowShare<Columns>::begin()),
        k(call.k, head, origin, RowShare<Columns>::begin()),
        v(call.v, head, origin, ValueTile<Columns>::begin());
    const RowsFrom<std::byte> o(call.o, head, origin, Strip::begin());
    float* const lse =
        call.lse == nullptr || t != 0
            ? nullptr
            : call.lse + static_cast<std::int64_t>(walk.rows.begin) * call.heads + head;
    const int keys_begin = walk.keys_begin - walk.rows.begin;
    const int keys_end = walk.keys_end - walk.rows.begin;
    const int wide_begin = walk.wide_begin - walk.rows.begin;
    const int wide_end = walk.wide_end - walk.rows.begin;
    const auto take_wide = [&](const Tile& first, const Tile& second, int first_key, int end,
                               unsigned spoilt) {
      unsigned seen = 0xfu;
      if (first_key < wide_begin || first_key + 16 > end) {
        seen = 0;
        const int column = opaque(2 * t);
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int key = first_key + 8 * (e / 2) + column + e % 2;
          if (key >= wide_begin && key < end) seen |= 1u << e;
        }
      }
      wide.take(first, second, seen, spoilt, factor);
    };

    Tile window[window_tiles];
    unsigned spoilt = 0;
#pragma unroll
    for (int tile = 0; tile < window_tiles - 2; ++tile) {
      window[tile].read(k, v, [&](int key) {
        return max(keys_begin, min(8 * tile + key - Tiles::radius, keys_end - 1));
      });
    }
    clean<T, 0, window_tiles - 2>(window, spoilt);
#pragma unroll 1
    for (int row = 0; row < rows; row += strip_tokens) {
      __syncwarp();
      // Addresses are computed anew: each would be a register of its own.
      const int here = opaque(row);
      const int first_key = here - Tiles::radius;
      RowShare<Columns> low, high;
      low.read(q.at(min(here + g, rows - 1)));
      high.read(q.at(min(here + g + 8, rows - 1)));
#pragma unroll
      for (int tile = window_tiles - 2; tile < window_tiles; ++tile) {
        // Not before the strip's rows, which are among the keys.
        window[tile].read(k, v, [&](int key) {
          return min(first_key + 8 * tile + key, keys_end - 1);
        });
      }
      clean<T, window_tiles - 2, 2>(window, spoilt);
      if (negative) {
        low.negate();
        high.negate();
      }
      WalkSight sight = whole;
      if (first_key < keys_begin || first_key + 8 * window_tiles > keys_end) {
        sight = cut_sight<Tiles>(whole, first_key, keys_begin, keys_end);
      }
      if (has_wide) take_wide(window[0], window[1], first_key, wide_end, spoilt);
      Strip strip;
      strip.weigh(low, high, globals, window, sight, factor);
      if ((spoilt | spoilt_globals) != 0) strip.spoil(sight, spoilt_globals, spoilt);
      __syncwarp();
      strip.accumulate(globals, window);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int mine = here + g + 8 * h;
        if (mine >= rows) continue;
        strip.store(h, o.at(mine));
        if (lse != nullptr) {
          lse[static_cast<std::int64_t>(mine) * call.heads] = strip.log_sum_exp_of(h);
        }
      }
#pragma unroll
      for (int tile = 0; tile + 2 < window_tiles; ++tile) window[tile] = window[tile + 2];
      spoilt >>= 4;
    }
    __syncwarp();
    // What is left of the last strip's window.
    if (has_wide) {
      const int behind = (rows + strip_tokens - 1) / strip_tokens * strip_tokens - Tiles::radius;
#pragma unroll
      for (int tile = 0; tile + 2 < window_tiles; tile += 2) {
        const int first_key = behind + 8 * tile;
        const bool is_last = tile + 3 >= window_tiles;
        take_wide(window[tile], window[is_last ? tile : tile + 1], first_key,
                  is_last ? min(wide_end, first_key + 8) : wide_end, spoilt >> 2 * tile);
      }
    }
  }
  if (has_wide) {
    wide.leave(walk.wide.count, [&](int row) {
      return call.partials +
             (static_cast<std::int64_t>(head) * call.partial_rows + walk.first_slot + row) *
                 call.partial_pitch;
    });
  }
}

/// A warp a wide row and head.
template <typename T>
__global__ void merge_walks_kernel(WalkArguments call) {
  std::int64_t number = static_cast<std::int64_t>(blockIdx.x) * walk_warps +
                        (static_cast<int>(threadIdx.x) >> 5);
  const int head = static_cast<int>(number % call.heads);
  number /= call.heads;
  const int row = static_cast<int>(number % call.widest_merge);
  number /= call.widest_merge;
  if (number >= call.merges) return;
  const WorkMerge merge = call.list.merges[number];
  if (row >= merge.run.count) return;
  const int token = merge.run.begin + row;
  const float* first = call.partials + (static_cast<std::int64_t>(head) * call.partial_rows +
                                        merge.first_slot + row) *
                                           call.partial_pitch;
  float* lse = call.lse == nullptr
                   ? nullptr
                   : call.lse + static_cast<std::int64_t>(token) * call.heads + head;
  merge_row<T>({first, static_cast<std::int64_t>(merge.run.count) * call.partial_pitch, merge.parts},
               call.head_dim, HeadRows<std::byte>(call.o, head).at(Place(call.items, token)), lse);
}

}  // namespace attnscope::cuda
