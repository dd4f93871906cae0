#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Forward for narrow windows and 16-bit numbers (kernels/cuda/work_list.h): a warp iterates over
// rows in strips of 16 and keeps all data of a strip in registers: the keys and values of its
// window and of the globals in tiles of 8, and all scores at once. There is one maximum, no
// rescaling, no shared memory and no barrier. Scores are in units of log2.
//
// Global memory is read in the order of the tensor cores' fragments. A product sums over its
// contraction in any order, so lane 4 g + t reads the same columns 8 t ... 8 t + 7 of a query and
// of a key: one 16-byte load for a row and 32 columns. Of values it reads columns C g / 8 ... of
// the rows 2 t and 2 t + 1, and byte permutes form the fragments' pairs; so column c of accumulator
// n is column C c / 8 + n of the head, a lane has adjacent ones, and rows are written in 16-byte
// stores. A tile that the next strip also uses stays in registers.
//
//   keys of a strip    row 0 - radius ... row 0 + 16 + radius: tiles 0 ... tiles - 1
//   rows g             attend to tiles 0 ... tiles - 2 only (h = 0)
//   rows g + 8         attend to tiles 1 ... tiles - 1 only (h = 1)
//
// A weight of 0 times NaN is NaN: a value that is not finite is set to 0 when it is loaded, and its
// key is marked; the weights of rows that attend to it are NaN.

#include "kernels/cuda/launch.h"
#include "kernels/cuda/rows.cuh"
#include "kernels/cuda/segment/arguments.h"

#ifdef ATTNSCOPE_CUDA_ON_HOST
#define __maxnreg__(registers)
#endif

namespace attnscope::cuda {

inline constexpr int walk_warps = 2;  // of a block; they are independent

/// Adjacent strips that a warp computes together in chunks (broad_walk.cuh, walk_backward.cuh).
template <int Columns>
inline constexpr int broad_strips = broad_strips_of(Columns);

/// A value that is equal in all lanes. It is broadcast from one lane, so the compiler knows that
/// branches on it are uniform.
__device__ __forceinline__ int same_in_all(int x) {
  return __shfl_sync(all_lanes, x, 0);
}

/// `from` of another lane.
__device__ __forceinline__ const std::byte* of_lane(const std::byte* from, int lane) {
  return reinterpret_cast<const std::byte*>(
      __shfl_sync(all_lanes, reinterpret_cast<unsigned long long>(from), lane));
}

/// The warp's number in its block.
__device__ __forceinline__ int warp_of_block() {
  return same_in_all(static_cast<int>(threadIdx.x) >> 5);
}

/// The walk and head of a warp. `by_head` (WalkList): the warps of a block have adjacent walks of
/// one head; otherwise adjacent heads of one walk.
struct OwnWalk {
  int number, head;
  bool exists;

  __device__ __forceinline__ OwnWalk(const WalkArguments& call, bool by_head) {
    const int block = static_cast<int>(blockIdx.x), warp = warp_of_block();
    const int of_all = by_head ? block : walk_warps * block + warp;
    const int divisor = by_head ? (call.walks + walk_warps - 1) / walk_warps : call.heads;
    const int whole = of_all / divisor, rest = of_all - whole * divisor;
    number = by_head ? walk_warps * rest + warp : whole;
    head = by_head ? whole : rest;
    exists = number < call.walks;
  }
};

template <bool Far, bool Many>
struct WalkTiles {
  static constexpr int radius = radius_of(Far);
  static constexpr int of_window = (strip_tokens + 2 * radius) / 8;
  static constexpr int of_globals = most_globals(Many) / 8;
  static constexpr int of_wide = most_wide_rows(Many) / 8;
  static constexpr int of_row = of_globals + of_window - 1;  // most tiles of a row
};

/// A lane's share, starting at byte `share`, of a tensor's rows of one head, numbered relative to a
/// token in the same strided run.
template <typename Byte>
struct RowsFrom {
  Byte* base;
  int stride;

  /// `first`: the lane's first row.
  __device__ __forceinline__ RowsFrom(const DeviceTensor<Byte>& tensor, int head,
                                      const Place& origin, int share, int first = 0)
      : stride(static_cast<int>(tensor.token_stride)) {
    // Opaque, so that it is computed once here, and not in parts for every row.
    base = opaque(row_at(HeadRows<Byte>(tensor, head).at(origin) + share, first, stride));
  }

  __device__ __forceinline__ Byte* at(int row) const { return row_at(base, row, stride); }
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

  /// Offset in a row at which it begins.
  static __device__ __forceinline__ int begin() { return 16 * t_of_lane(); }

  __device__ __forceinline__ void read(const std::byte* share) {
#pragma unroll
    for (int p = 0; p < pieces; ++p) piece[p] = load<uint4>(share + 64 * p);
  }
};

/// Query fragments for the tensor cores: rows g and g + 8.
template <int Columns>
struct QueryFragments {
  static constexpr int steps = Columns / 16;
  std::uint32_t a[steps][4];

  __device__ __forceinline__ void put(const RowShare<Columns>& low, const RowShare<Columns>& high) {
#pragma unroll
    for (int p = 0; p < steps / 2; ++p) {
      const uint4 x = low.piece[p], y = high.piece[p];
      const std::uint32_t of_both[8] = {x.x, y.x, x.y, y.y, x.z, y.z, x.w, y.w};
#pragma unroll
      for (int i = 0; i < 8; ++i) a[2 * p + i / 4][i % 4] = of_both[i];
    }
  }
  /// Flips the sign bits `signs` of both numbers; `signs` may be 0, but not as a compile-time
  /// constant. Even then the operation is useful: loaded values are in other registers than the
  /// tensor cores need, and would be moved for every product.
  __device__ __forceinline__ void flip(std::uint32_t signs) {
#pragma unroll
    for (int i = 0; i < steps; ++i) {
#pragma unroll
      for (int r = 0; r < 4; ++r) a[i][r] ^= signs;
    }
  }
};

/// s += queries times keys.
template <typename T, int Columns>
__device__ __forceinline__ void add_scores(float (&s)[4], const QueryFragments<Columns>& queries,
                                           const RowShare<Columns>& keys) {
#pragma unroll
  for (int p = 0; p < RowShare<Columns>::pieces; ++p) {
    const uint4 k = keys.piece[p];
    multiply_add<T>(s, queries.a[2 * p], k.x, k.y);
    multiply_add<T>(s, queries.a[2 * p + 1], k.z, k.w);
  }
}

/// The values of 8 keys; pair n is keys 2 t (low) and 2 t + 1 of column Columns / 8 * g + n.
template <int Columns>
struct ValueTile {
  static constexpr int pairs = Columns / 8;
  std::uint32_t pair[pairs];

  /// Offset in a row at which the lane's share begins.
  static __device__ __forceinline__ int begin() { return 2 * pairs * g_of_lane(); }

  /// Rows 2 t and 2 t + 1 as loaded; the load may be in progress until put().
  struct Rows {
    using Vector = std::conditional_t<pairs == 4, uint2, uint4>;
    Vector first, second;

    __device__ __forceinline__ void read(const std::byte* first_share,
                                         const std::byte* second_share) {
      first = load<Vector>(first_share);
      second = load<Vector>(second_share);
    }
  };
  __device__ __forceinline__ void put(const Rows& rows) {
    set(0, rows.first.x, rows.second.x);
    set(2, rows.first.y, rows.second.y);
    if constexpr (pairs == 8) {
      set(4, rows.first.z, rows.second.z);
      set(6, rows.first.w, rows.second.w);
    }
  }
  __device__ __forceinline__ void read(const std::byte* first_share,
                                       const std::byte* second_share) {
    Rows rows;
    rows.read(first_share, second_share);
    put(rows);
  }

  template <typename T>
  [[nodiscard]] __device__ __forceinline__ std::uint32_t trace(std::uint32_t before) const {
#pragma unroll
    for (int n = 0; n < pairs; ++n) before = trace_non_finite<T>(pair[n], before);
    return before;
  }

  /// Sets numbers that are not finite to 0. Returns a bit for each of the lane's two keys: whether
  /// it has such a number in any column. Called by all lanes of the warp.
  template <typename T>
  __device__ __forceinline__ unsigned clear_non_finite() {
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

/// Cleans tiles [First, First + Count) if necessary, and sets the bits 2 i, 2 i + 1 of `spoilt` for
/// such numbers in tile i. Called by all lanes of the warp.
template <typename T, int First, int Count, int Columns, int Tiles>
__device__ __forceinline__ void clean(ValueTile<Columns> (&tiles)[Tiles], unsigned& spoilt) {
  std::uint32_t trace = 0;
#pragma unroll
  for (int i = First; i < First + Count; ++i) trace = tiles[i].template trace<T>(trace);
  if (__any_sync(all_lanes, trace != 0 ? 1 : 0) == 0) return;
#pragma unroll
  for (int i = First; i < First + Count; ++i) {
    spoilt |= tiles[i].template clear_non_finite<T>() << 2 * i;
  }
}

/// A pair of weights, with NaN for the keys of bits 0 and 1.
__device__ __forceinline__ std::uint32_t with_nan(std::uint32_t weights, unsigned bits) {
  return weights | ((bits & 1u) != 0 ? 0x7fffu : 0u) | ((bits & 2u) != 0 ? 0x7fff0000u : 0u);
}

/// Bits 2 i, 2 i + 1: which of the lane's keys of tile i are from `begin` to `end`; tile 0 begins
/// at key `first`.
template <int Tiles>
__device__ __forceinline__ unsigned seen_keys(int first, int begin, int end) {
  const int mine = first + 2 * t_of_lane();
  const auto keys_before = [&](int key) {
    const int distance = max(0, min(key - mine, 8 * Tiles));
    return distance / 8 * 2 + min(distance % 8, 2);
  };
  return ~0u << keys_before(begin) & ~(~0u << keys_before(end));
}

/// The scores of a strip with 16 tokens, two tiles of the tensor cores. Masks tokens outside the
/// window with -inf; the first token is `distance` after the strip's first row.
using ChunkScores = float[2][4];
/// One edge: `mine` is the distance of the lane's first token from its first row, minus that of the
/// edge from the row.
template <bool Before>
__device__ __forceinline__ void cut_edge(ChunkScores& s, int mine) {
#pragma unroll
  for (int e = 0; e < 8; ++e) {
    // From the first token and row to those of score e.
    const int distance = 8 * (e / 4) + e % 2 - 8 * (e / 2 % 2);
    if (Before ? mine < -distance : mine > -distance) s[e / 4][e % 4] = minus_infinity;
  }
}
__device__ __forceinline__ void cut_by_window(ChunkScores& s, int distance, int window) {
  const int mine = distance + 2 * t_of_lane() - g_of_lane();
  if (distance < 15 - window) cut_edge<true>(s, mine + window);
  if (distance > window - 15) cut_edge<false>(s, mine - window);
}
/// Also masks tokens before `begin` and from `end` on; the first token is `first`.
__device__ __forceinline__ void cut_by_keys(ChunkScores& s, int first, int begin, int end) {
#pragma unroll
  for (int e = 0; e < 8; ++e) {
    const int token = first + 2 * t_of_lane() + 8 * (e / 4) + e % 2;
    if (token < begin || token >= end) s[e / 4][e % 4] = minus_infinity;
  }
}

/// The factor of a row's weighted values; 0 for a row without keys.
__device__ __forceinline__ float approximate_inverse_of(float sum) {
  return sum == 0.0f ? 0.0f : reciprocal_approx(sum);
}
/// `maximum` is in units of log 2; -inf if the sum is 0.
__device__ __forceinline__ float log2_sum_exp(float maximum, float sum) {
  return sum == 0.0f ? minus_infinity : (maximum + log2_approx(sum)) * ln_2;
}
/// The maximum of no scores: below all, but finite, so that it can be subtracted.
inline constexpr float no_maximum = -3e38f;

/// The partial result of a wide row.
__device__ __forceinline__ float* partial_row(const WalkArguments& call, int head, int slot) {
  return call.partials +
         (static_cast<std::int64_t>(head) * call.partial_rows + slot) * call.partial_pitch;
}

/// A walk's wide rows, which attend to all streamed keys: one softmax, whose maximum lags behind,
/// so that sums are rarely rescaled. Their weights are transposed for the product with the values,
/// so that values are the operand with 16 rows: o[u][m] are columns 2 m, 2 m + 1 (+ Columns / 8 *
/// g) of rows 8 u + 2 t and the next. All functions are called by all lanes of the warp.
template <typename T, int Columns, int Tiles>
struct WideRows {
  static constexpr float slack = 8.0f;  // of a maximum: weights are at most 2^8

  QueryFragments<Columns> q;
  std::uint32_t weights[Tiles][2];  // of the last two tiles of keys
  float maximum[Tiles];             // of rows g, in units of log2
  float sum[Tiles];                 // this lane's share
  float o[Tiles][Columns / 16][4];

  __device__ __forceinline__ void begin(const ForwardWalkArguments& call, const WorkWalk& walk,
                                        int head) {
    const int g = g_of_lane();
    RowShare<Columns> rows[2];
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      // The result for a missing row is ignored.
      const int token = walk.wide.begin + min(8 * u + g, walk.wide.count - 1);
      rows[u].read(HeadRows<const std::byte>(call.q, head).at(Place(call.items, token)) +
                   RowShare<Columns>::begin());
    }
    q.put(rows[0], rows[1]);
    q.flip(call.signs);
#pragma unroll
    for (int u = 0; u < Tiles; ++u) {
      maximum[u] = no_maximum;
      sum[u] = 0.0f;
#pragma unroll
      for (int m = 0; m < Columns / 16; ++m) o[u][m][0] = o[u][m][1] = o[u][m][2] = o[u][m][3] = 0;
    }
  }

  /// Computes the weights of two tiles of keys; only keys in `seen` (seen_keys) count.
  __device__ __forceinline__ void weigh(const RowShare<Columns>& first,
                                        const RowShare<Columns>& second, unsigned seen,
                                        float factor) {
    float s[2][4] = {};
    add_scores<T>(s[0], q, first);
    add_scores<T>(s[1], q, second);
    float above[2][2 * Tiles];  // the maximum
    bool rises = false;
    const auto compare = [&] {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int e = 0; e < 2 * Tiles; ++e) {
          above[i][e] = fmaf(s[i][e], factor, -maximum[e / 2]);
          rises = rises || above[i][e] > slack;
        }
      }
    };
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int e = 0; e < 2 * Tiles; ++e) {
        if ((seen >> (2 * i + e % 2) & 1u) == 0) s[i][e] = minus_infinity;
      }
    }
    compare();
    if (__any_sync(all_lanes, rises ? 1 : 0) != 0) {
      raise(s, factor);
      compare();
    }
#pragma unroll
    for (int u = 0; u < Tiles; ++u) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const float even = exp2_approx(above[i][2 * u]), odd = exp2_approx(above[i][2 * u + 1]);
        sum[u] += even + odd;
        weights[u][i] = pair_of<T>(even, odd);
      }
    }
  }

  /// Adds their values times the weights; `spoilt`: the visible keys whose values were not finite.
  __device__ __forceinline__ void accumulate(const ValueTile<Columns>& first,
                                             const ValueTile<Columns>& second, unsigned spoilt) {
    if (spoilt != 0) {
#pragma unroll
      for (int u = 0; u < Tiles; ++u) {
#pragma unroll
        for (int i = 0; i < 2; ++i) weights[u][i] = with_nan(weights[u][i], spoilt >> 2 * i);
      }
    }
    __syncwarp();
#pragma unroll
    for (int m = 0; m < Columns / 16; ++m) {
      const std::uint32_t a[4] = {first.pair[2 * m], first.pair[2 * m + 1], second.pair[2 * m],
                                  second.pair[2 * m + 1]};
#pragma unroll
      for (int u = 0; u < Tiles; ++u) multiply_add<T>(o[u][m], a, weights[u][0], weights[u][1]);
    }
  }

  /// The globals of a walk whose wide rows attend to them; `seen`: bits of their tiles.
  template <int Globals>
  __device__ __forceinline__ void take_globals(const RowShare<Columns> (&keys)[Globals],
                                               const ValueTile<Columns> (&values)[Globals],
                                               unsigned seen, unsigned spoilt, float factor) {
#pragma unroll
    for (int i = 0; i < Globals; i += 2) {
      const unsigned seen_here = seen >> 2 * i & 0xfu;
      weigh(keys[i], keys[i + 1], seen_here, factor);
      accumulate(values[i], values[i + 1], seen_here & spoilt >> 2 * i);
    }
  }

  /// Stores sums of weighted values, maximum and sum of weights in the walk's partial rows; if it
  /// has all keys, writes the rows.
  __device__ __forceinline__ void end(const ForwardWalkArguments& call, const WorkWalk& walk,
                                      int head) {
#pragma unroll
    for (int u = 0; u < Tiles; ++u) sum[u] = sum_of_lanes<4>(sum[u]);
    if (walk.first_slot >= 0) {
      leave(call, walk, head);
    } else {
      finish(call, walk, head);
    }
  }

 private:
  __device__ __forceinline__ void leave(const ForwardWalkArguments& call, const WorkWalk& walk,
                                        int head) const {
    const int g = g_of_lane(), t = t_of_lane(), count = walk.wide.count;
#pragma unroll
    for (int u = 0; u < Tiles; ++u) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int number = 8 * u + 2 * t + e;
        if (number >= count) continue;
        float* to = partial_row(call, head, walk.first_slot + number) + Columns / 8 * g;
#pragma unroll
        for (int m = 0; m < Columns / 16; m += 2) {
          *reinterpret_cast<float4*>(to + 2 * m) =
              float4{o[u][m][e], o[u][m][2 + e], o[u][m + 1][e], o[u][m + 1][2 + e]};
        }
      }
      const int number = 8 * u + g;
      if (t != 0 || number >= count) continue;
      float* to = partial_row(call, head, walk.first_slot + number) + Columns;
      to[0] = maximum[u];
      to[1] = sum[u];
    }
  }

  __device__ __forceinline__ void finish(const ForwardWalkArguments& call, const WorkWalk& walk,
                                         int head) const {
    const int g = g_of_lane(), t = t_of_lane(), count = walk.wide.count;
#pragma unroll
    for (int u = 0; u < Tiles; ++u) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int number = 8 * u + 2 * t + e;
        const float inverse = approximate_inverse_of(__shfl_sync(all_lanes, sum[u], 8 * t + 4 * e));
        if (number >= count) continue;
        std::byte* to =
            HeadRows<std::byte>(call.o, head).at(Place(call.items, walk.wide.begin + number));
#pragma unroll
        for (int m = 0; m < Columns / 16; ++m) {
          reinterpret_cast<std::uint32_t*>(to + Columns / 4 * g)[m] =
              pair_of<T>(o[u][m][e] * inverse, o[u][m][2 + e] * inverse);
        }
      }
      const int number = 8 * u + g;
      if (call.lse != nullptr && t == 0 && number < count) {
        call.lse[static_cast<std::int64_t>(walk.wide.begin + number) * call.heads + head] =
            log2_sum_exp(maximum[u], sum[u]);
      }
    }
  }

  __device__ __forceinline__ void raise(const float (&s)[2][4], float factor) {
    const int t = t_of_lane();
#pragma unroll
    for (int u = 0; u < Tiles; ++u) {
      float largest =
          fmaxf(fmaxf(s[0][2 * u], s[0][2 * u + 1]), fmaxf(s[1][2 * u], s[1][2 * u + 1]));
      largest = fmaxf(largest_of_lanes<4>(largest) * factor, maximum[u]);
      const float rescale = exp2_approx(maximum[u] - largest);
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

/// The visible columns of each of a lane's two rows: bits 2 i, 2 i + 1 are its columns of tile i of
/// the row, the globals' tiles first.
struct WalkSight {
  unsigned row[2];
};

/// Bits of the window's tiles as those of each row.
template <typename Tiles>
__device__ __forceinline__ WalkSight by_rows(unsigned window) {
  constexpr unsigned of_row = (1u << 2 * (Tiles::of_window - 1)) - 1u;
  return {{(window & of_row) << 2 * Tiles::of_globals, window >> 2 << 2 * Tiles::of_globals}};
}

template <typename Tiles>
__device__ __forceinline__ WalkSight sight_of(int globals, int window) {
  const int g = g_of_lane();
  // Both of the lane's rows are opposite the same columns of their own tiles.
  const unsigned band = seen_keys<Tiles::of_window - 1>(-Tiles::radius - g, -window, window + 1);
  const unsigned of_row =
      seen_keys<Tiles::of_globals>(0, 0, globals) | band << 2 * Tiles::of_globals;
  return {{of_row, of_row}};
}

/// The visible columns without the keys before `begin` and from `end` on; the window begins at key
/// `first`.
template <typename Tiles>
__device__ __forceinline__ WalkSight cut_sight(const WalkSight& whole, int first, int begin,
                                               int end) {
  constexpr unsigned of_globals = (1u << 2 * Tiles::of_globals) - 1u;
  const WalkSight there = by_rows<Tiles>(seen_keys<Tiles::of_window>(first, begin, end));
  return {{whole.row[0] & (there.row[0] | of_globals), whole.row[1] & (there.row[1] | of_globals)}};
}

/// A walk's globals: each lane computes the row addresses of one in two tensors and shares them
/// with all lanes. Called by all lanes.
struct GlobalRows {
  int token;
  const std::byte *key, *value;

  /// The last global replaces a missing one.
  __device__ __forceinline__ GlobalRows(const WalkArguments& call, const WorkWalk& walk, int head,
                                        const Input& keys, const Input& values) {
    const int position = min(lane_of_warp(), walk.globals.count - 1);
    token = position < 0 ? walk.rows.begin : token_of(walk.globals, call.list.indices, position);
    const Place at(call.items, token);
    key = HeadRows<const std::byte>(keys, head).at(at);
    value = HeadRows<const std::byte>(values, head).at(at);
  }

  /// 8 of them, starting at `first`.
  template <int Columns>
  __device__ __forceinline__ void read(int first, RowShare<Columns>& keys,
                                       typename ValueTile<Columns>::Rows& values) const {
    const int own = first + 2 * t_of_lane();
    keys.read(of_lane(key, first + g_of_lane()) + RowShare<Columns>::begin());
    values.read(of_lane(value, own) + ValueTile<Columns>::begin(),
                of_lane(value, own + 1) + ValueTile<Columns>::begin());
  }
};

/// Offset in a row of the output at which a lane's share begins.
template <int Columns>
__device__ __forceinline__ int output_begin() {
  return Columns / 2 * t_of_lane();
}

/// Writes the lane's share of a row of half h, times `factor`, if `is_row`. Continues a trace of
/// numbers that are not finite.
template <typename T, int Columns>
__device__ __forceinline__ std::uint32_t store_share(const float (&o)[Columns / 8][4], float factor,
                                                     int h, std::byte* share, bool is_row,
                                                     std::uint32_t trace = 0) {
  constexpr int half = Columns / 8;  // columns of accumulator column 2 t, then of 2 t + 1
#pragma unroll
  for (int first = 0; first < 2 * half; first += 8) {
    std::uint32_t pairs[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int c = first + 2 * i;
      pairs[i] = pair_of<T>(o[c % half][2 * h + c / half] * factor,
                            o[c % half + 1][2 * h + c / half] * factor);
    }
    if (is_row)
      *reinterpret_cast<uint4*>(share + 2 * first) = uint4{pairs[0], pairs[1], pairs[2], pairs[3]};
#pragma unroll
    for (int i = 0; i < 4; ++i) trace = trace_non_finite<T>(pairs[i], trace);
  }
  return trace;
}

/// The scores and weights of a strip.
template <typename T, int Columns, typename Tiles>
struct WalkStrip {
  static constexpr int globals = Tiles::of_globals;
  static constexpr int window = Tiles::of_window;

  float s[globals + window][4];
  float maximum[2];  // of rows g and g + 8, in units of log2; whole sums
  float sum[2];
  std::uint32_t weights[2][Tiles::of_row];  // pairs, by tiles of the row
  float o[Columns / 8][4];

  __device__ __forceinline__ void score(const QueryFragments<Columns>& queries,
                                        const RowShare<Columns> (&of_globals)[globals],
                                        const RowShare<Columns> (&of_window)[window]) {
#pragma unroll
    for (int i = 0; i < globals + window; ++i) {
      s[i][0] = s[i][1] = s[i][2] = s[i][3] = 0.0f;
      const bool is_global = i < globals;
      add_scores<T>(
          s[i], queries,
          is_global ? of_globals[is_global ? i : 0] : of_window[is_global ? 0 : i - globals]);
    }
  }

  /// Replaces scores with weights, relative to the row's maximum.
  __device__ __forceinline__ void weigh(const WalkSight& sight, float factor) {
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
      largest = largest_of_lanes<4>(largest);
      maximum[h] = largest * factor;
      // A row without keys must not subtract infinities.
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
      sum[h] = sum_of_lanes<4>(total);
    }
  }

  /// Makes rows NaN that attend to keys whose values were not finite.
  __device__ __forceinline__ void spoil(const WalkSight& sight, unsigned of_globals,
                                        unsigned of_window) {
    const WalkSight spoilt = by_rows<Tiles>(of_window);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const unsigned seen = sight.row[h] & (of_globals | spoilt.row[h]);
#pragma unroll
      for (int i = 0; i < Tiles::of_row; ++i)
        weights[h][i] = with_nan(weights[h][i], seen >> 2 * i);
    }
  }

  /// Called by all lanes of the warp.
  __device__ __forceinline__ void accumulate(const ValueTile<Columns> (&of_globals)[globals],
                                             const ValueTile<Columns> (&of_window)[window]) {
#pragma unroll
    for (int n = 0; n < Columns / 8; ++n) {
      o[n][0] = o[n][1] = o[n][2] = o[n][3] = 0.0f;
#pragma unroll
      for (int i = 0; i < globals; i += 2) {
        multiply_add<T>(o[n], {weight(0, i), weight(1, i), weight(0, i + 1), weight(1, i + 1)},
                        of_globals[i].pair[n], of_globals[i + 1].pair[n]);
      }
#pragma unroll
      for (int i = 0; i < window; i += 2) {
        const int tile = globals + i;
        const int next = i + 1 < window ? i + 1 : i;  // of weights 0 if there is none
        multiply_add<T>(
            o[n], {weight(0, tile), weight(1, tile), weight(0, tile + 1), weight(1, tile + 1)},
            of_window[i].pair[n], of_window[next].pair[n]);
      }
    }
  }

 private:
  /// The weight for a tile, the globals first; 0 if half h does not attend to it.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t weight(int h, int tile) const {
    const int place = tile < globals ? tile : tile - h;
    const bool is_seen = tile < globals || (place >= globals && place < Tiles::of_row);
    return is_seen ? weights[h][is_seen ? place : 0] : 0u;
  }
};

/// Registers per thread; no instantiation spills. With narrow windows an SM has 16 warps. (With 12,
/// each of which loaded its next strip while it computed one, 100 x 2048 tokens took 1.14 times as
/// long on an H200.)
template <int Columns, bool Far, bool Many>
inline constexpr int walk_registers = Columns == 64 ? (Far || Many ? 255 : 200)
                                      : Far&& Many  ? 224
                                      : Far || Many ? 168
                                                    : 128;

template <typename T, int Columns, bool Far, bool Many>
__global__ void __maxnreg__((walk_registers<Columns, Far, Many>))
    segment_walk_kernel(ForwardWalkArguments call) {
  using Tiles = WalkTiles<Far, Many>;
  using Keys = RowShare<Columns>;
  using Values = ValueTile<Columns>;
  using Strip = WalkStrip<T, Columns, Tiles>;
  constexpr int window_tiles = Tiles::of_window;
  const int g = g_of_lane(), t = t_of_lane();
  const OwnWalk own(call, /*by_head=*/false);
  if (!own.exists) return;
  const WorkWalk& walk = call.list.walks[own.number];
  const int head = own.head;
  const float factor = call.factor;

  Keys global_keys[Tiles::of_globals];
  Values global_values[Tiles::of_globals];
  const GlobalRows of_globals(call, walk, head, call.k, call.v);
#pragma unroll
  for (int i = 0; i < Tiles::of_globals; ++i) {
    typename Values::Rows rows;
    of_globals.read(8 * i, global_keys[i], rows);
    global_values[i].put(rows);
  }
  unsigned spoilt_globals = 0;
  clean<T, 0, Tiles::of_globals>(global_values, spoilt_globals);
  const WalkSight whole = sight_of<Tiles>(walk.globals.count, walk.window);

  WideRows<T, Columns, Tiles::of_wide> wide;
  const bool has_wide = same_in_all(walk.wide.count) > 0;
  if (has_wide) {
    wide.begin(call, walk, head);
    if (walk.wide_takes_globals != 0)
      wide.take_globals(global_keys, global_values, whole.row[0], spoilt_globals, factor);
  }

  // From here on tokens are counted from the walk's first row.
  const int rows = same_in_all(walk.rows.count);
  if (rows > 0) {
    const int begin = same_in_all(walk.rows.begin);
    const Place origin(call.items, begin);
    const RowsFrom<const std::byte> q(call.q, head, origin, Keys::begin()),
        k(call.k, head, origin, Keys::begin()), v(call.v, head, origin, Values::begin());
    const RowsFrom<std::byte> o(call.o, head, origin, output_begin<Columns>());
    const int keys_begin = same_in_all(walk.keys_begin) - begin;
    const int keys_end = same_in_all(walk.keys_end) - begin;
    const int wide_begin = same_in_all(walk.wide_begin) - begin;
    const int wide_end = same_in_all(walk.wide_end) - begin;
    // Which of 16 keys the wide rows use, if they are before `end`.
    const auto edge_sight = [&](int first_key, int end) {
      return seen_keys<2>(first_key, wide_begin, end);
    };
    const auto wide_sight = [&](int first_key, int end) {
      const bool is_inside = first_key >= wide_begin && first_key + 16 <= end;
      return is_inside ? 0xfu : edge_sight(first_key, end);
    };

    Keys keys[window_tiles];
    Values values[window_tiles];
    unsigned spoilt = 0;
#pragma unroll
    for (int tile = 0; tile < window_tiles - 2; ++tile) {
      const auto key = [&](int of_tile) {
        return max(keys_begin, min(8 * tile + of_tile - Tiles::radius, keys_end - 1));
      };
      keys[tile].read(k.at(key(g)));
      values[tile].read(v.at(key(2 * t)), v.at(key(2 * t + 1)));
    }
    clean<T, 0, window_tiles - 2>(values, spoilt);
    const auto take_strip = [&](int row) {
      __syncwarp();
      const int first_key = row - Tiles::radius;
      Keys low, high;
      typename Values::Rows newest[2];  // of the last two tiles
      low.read(q.at(min(row + g, rows - 1)));
      high.read(q.at(min(row + g + 8, rows - 1)));
      // Not before the strip's rows, which are among the keys.
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int tile = window_tiles - 2 + i;
        const int first = first_key + 8 * tile;
        keys[tile].read(k.at(min(first + g, keys_end - 1)));
        newest[i].read(v.at(min(first + 2 * t, keys_end - 1)),
                       v.at(min(first + 2 * t + 1, keys_end - 1)));
      }
      QueryFragments<Columns> queries;
      queries.put(low, high);
      queries.flip(call.signs);
      Strip strip;
      strip.score(queries, global_keys, keys);
      unsigned seen_by_wide = 0;
      if (has_wide) {
        seen_by_wide = wide_sight(first_key, wide_end);
        wide.weigh(keys[0], keys[1], seen_by_wide, factor);
      }
#pragma unroll
      for (int tile = 0; tile + 2 < window_tiles; ++tile) keys[tile] = keys[tile + 2];
      WalkSight sight = whole;
      if (first_key < keys_begin || first_key + 8 * window_tiles > keys_end) {
        sight = cut_sight<Tiles>(whole, first_key, keys_begin, keys_end);
      }
      strip.weigh(sight, factor);
#pragma unroll
      for (int i = 0; i < 2; ++i) values[window_tiles - 2 + i].put(newest[i]);
      clean<T, window_tiles - 2, 2>(values, spoilt);
      if ((spoilt | spoilt_globals) != 0) strip.spoil(sight, spoilt_globals, spoilt);
      __syncwarp();
      if (has_wide) wide.accumulate(values[0], values[1], seen_by_wide & spoilt);
      strip.accumulate(global_values, values);
#pragma unroll
      for (int tile = 0; tile + 2 < window_tiles; ++tile) values[tile] = values[tile + 2];
      spoilt >>= 4;
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int mine = row + g + 8 * h;
        store_share<T, Columns>(strip.o, approximate_inverse_of(strip.sum[h]), h, o.at(mine),
                                mine < rows);
      }
      // Lanes t = 0 and 1 have a row each.
      const int mine = row + g + 8 * t;
      if (call.lse != nullptr && t < 2 && mine < rows) {
        call.lse[static_cast<std::int64_t>(begin + mine) * call.heads + head] = log2_sum_exp(
            t == 0 ? strip.maximum[0] : strip.maximum[1], t == 0 ? strip.sum[0] : strip.sum[1]);
      }
    };
#pragma unroll 1
    for (int row = 0; row < rows; row += strip_tokens) take_strip(row);
    __syncwarp();
    // The rest of the last strip's window.
    if (has_wide) {
      const int after = (rows + strip_tokens - 1) / strip_tokens * strip_tokens - Tiles::radius;
#pragma unroll
      for (int tile = 0; tile + 2 < window_tiles; tile += 2) {
        const int first_key = after + 8 * tile;
        const bool is_last = tile + 3 >= window_tiles;
        const int next = is_last ? tile : tile + 1;
        const unsigned seen =
            wide_sight(first_key, is_last ? min(wide_end, first_key + 8) : wide_end);
        wide.weigh(keys[tile], keys[next], seen, factor);
        wide.accumulate(values[tile], values[next], seen & spoilt >> 2 * tile);
      }
    }
  }
  if (has_wide) wide.end(call, walk, head);
}

/// The wide row and head of a warp in a merge launch: a row that several walks stored as float32
/// parts.
struct MergedWalkRow {
  bool exists = false;
  int head = 0, token = 0, parts = 0;
  const float* first = nullptr;
  std::int64_t step = 0;  // floats

  __device__ __forceinline__ explicit MergedWalkRow(const WalkArguments& call) {
    std::int64_t number = static_cast<std::int64_t>(blockIdx.x) * walk_warps + warp_of_block();
    head = static_cast<int>(number % call.heads);
    number /= call.heads;
    const int row = static_cast<int>(number % call.widest_merge);
    number /= call.widest_merge;
    if (number >= call.merges) return;
    const WorkMerge merge = call.list.merges[number];
    exists = row < merge.run.count;
    token = merge.run.begin + row;
    parts = merge.parts;
    first = partial_row(call, head, merge.first_slot + row);
    step = static_cast<std::int64_t>(merge.run.count) * call.partial_pitch;
  }
  [[nodiscard]] __device__ __forceinline__ const float* part(int p) const {
    return first + p * step;
  }
};

/// Merges sums of weighted values, maxima (in units of log2) and sums of weights, in the parts'
/// order. Lanes compute the maximum over the parts, then each lane sums its columns part by part.
template <typename T>
__global__ void merge_walks_kernel(ForwardWalkArguments call) {
  const MergedWalkRow merged(call);
  if (!merged.exists) return;
  const int lane = lane_of_warp();
  float maximum = no_maximum;
  for (int p = lane; p < merged.parts; p += 32)
    maximum = fmaxf(maximum, merged.part(p)[call.head_dim]);
  maximum = largest_of_lanes(maximum);
  float sum = 0.0f;
  for (int p = 0; p < merged.parts; ++p) {
    const float* part = merged.part(p) + call.head_dim;
    sum = fmaf(exp2_approx(part[0] - maximum), part[1], sum);
  }
  const float inverse = inverse_of(sum);
  std::byte* row = HeadRows<std::byte>(call.o, merged.head).at(Place(call.items, merged.token));
  for (int column = lane; column < call.head_dim; column += 32) {
    float total = 0.0f;
#pragma unroll 4
    for (int p = 0; p < merged.parts; ++p) {
      const float* part = merged.part(p);
      total = fmaf(exp2_approx(part[call.head_dim] - maximum), part[column], total);
    }
    reinterpret_cast<T*>(row)[column] = from_float<T>(total * inverse);
  }
  if (call.lse != nullptr && lane == 0) {
    call.lse[static_cast<std::int64_t>(merged.token) * call.heads + merged.head] =
        log_sum_exp(maximum, sum);
  }
}

}  // namespace attnscope::cuda
