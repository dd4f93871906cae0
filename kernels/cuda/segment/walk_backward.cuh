#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Backward for 16-bit numbers: walks along rows (grad_q) and along keys (grad_k, grad_v), the plan
// transposed. What stands still is a strip of 16 rows or keys, what passes by are the other ones,
// 16 at a time: the window, then the globals. With the weights known from the log-sum-exp there is
// no maximum, so that nothing of a strip but its sums outlives 16 of them. Windows of 17 to 128
// tokens pass by in a loop, and only where they end are places compared.
//
//             stands still   passes by   sums
//   rows      q, grad_o      k, v        grad_q += dS k, and D = grad_o . o, left for keys
//   keys      k, v           q, grad_o   grad_k += dS^T q, grad_v += P^T grad_o
//
// In both the scores are the first of what stands still times the first of what passes by, and dP
// the second times the second. Memory is read and written as in walk.cuh.

#include "kernels/cuda/segment/walk.cuh"

namespace attnscope::cuda {

/// What a walk sums up, which tells what stands still. Past keys of head dimension 64 there is no
/// room for the sums of both gradients: two launches.
enum class Sums : std::uint8_t { queries, keys, values, keys_and_values };

template <Sums sums>
struct WalkSums {
  static constexpr bool of_keys = sums != Sums::queries;
  static constexpr bool has_by_score = sums != Sums::values;  // dS, for which dP is needed
  static constexpr int gradients = sums == Sums::keys_and_values ? 2 : 1;
  /// Of what passes by, the tensor whose values gradient i sums up.
  static __host__ __device__ constexpr int tensor_of(int i) { return sums == Sums::values ? 1 : i; }
  /// The weights of gradient i are dS, which lack the scale; else P.
  static __host__ __device__ constexpr bool by_score(int i) { return has_by_score && i == 0; }
  static __device__ __forceinline__ const Output& gradient(const BackwardTensors& of, int i) {
    return !of_keys ? of.grad_q : has_by_score && i == 0 ? of.grad_k : of.grad_v;
  }
};

/// Two tiles that pass by; bits 2 u, 2 u + 1 of `spoilt[i]`: the lane's numbers of tile u have
/// values of tensor i that are not finite.
template <int Columns, Sums sums>
struct PassingTiles {
  using Of = WalkSums<sums>;
  static constexpr int summed = Of::gradients;

  RowShare<Columns> first[2], second[2];
  ValueTile<Columns> values[summed][2];
  RowNumbers numbers[Of::of_keys ? 2 : 1][2];  // of queries 2 t and 2 t + 1
  unsigned spoilt[summed] = {};

  /// Tile u; `token(i)` is its token i, of `heads` numbers each; `row(tensor, token)` is the lane's
  /// share of a row as RowShare reads it, `values_of` as ValueTile does.
  template <typename Token, typename Row, typename ValuesOf>
  __device__ __forceinline__ void read(int u, const float* lses, const float* dots, int heads,
                                       const Token& token, const Row& row,
                                       const ValuesOf& values_of) {
    const int lane = static_cast<int>(threadIdx.x) & 31;
    const int column = 2 * (lane & 3);
    const int mine = token(lane >> 2);
    first[u].read(row(0, mine));
    if constexpr (Of::has_by_score) second[u].read(row(1, mine));
    const int even = token(column), odd = token(column + 1);
#pragma unroll
    for (int i = 0; i < summed; ++i) {
      values[i][u].read(values_of(Of::tensor_of(i), even), values_of(Of::tensor_of(i), odd));
    }
    if constexpr (Of::of_keys) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        numbers[u][e].read(lses, dots, static_cast<std::int64_t>(e == 0 ? even : odd) * heads);
      }
    }
  }

  /// By all lanes of the warp, when both tiles are read, or the first alone.
  template <typename T, int Count>
  __device__ __forceinline__ void clean_values() {
#pragma unroll
    for (int i = 0; i < summed; ++i) {
      spoilt[i] = 0;
      clean<T, 0, Count>(values[i], spoilt[i]);
    }
  }
};

/// 16 rows or keys that stand still, and their sums.
template <typename T, int Columns, Sums sums_of>
struct StandingStrip {
  using Of = WalkSums<sums_of>;
  static constexpr int gradients = Of::gradients;

  QueryFragments<Columns> first, second;
  RowNumbers numbers[2];  // of rows g and g + 8
  float sums[gradients][Columns / 8][4];

  /// `count` rows; row(tensor, i) is the lane's share of row i of a tensor, 2 being o. `zero`:
  /// see QueryFragments::flip. By all lanes of the warp.
  template <typename Row>
  __device__ __forceinline__ void begin(int count, std::uint32_t zero, const Row& row) {
    const int g = (static_cast<int>(threadIdx.x) & 31) >> 2;
    const int low = min(g, count - 1), high = min(g + 8, count - 1);
    RowShare<Columns> a, b;
    a.read(row(0, low));
    b.read(row(0, high));
    first.put(a, b);
    first.flip(zero);
    if constexpr (Of::has_by_score) {
      a.read(row(1, low));
      b.read(row(1, high));
      second.put(a, b);
      second.flip(zero);
    }
    if constexpr (!Of::of_keys) {
      // D is the diagonal of grad_o o^T.
      a.read(row(2, low));
      b.read(row(2, high));
      float of_low[4] = {}, of_high[4] = {};
      add_scores<T>(of_low, second, a);
      add_scores<T>(of_high, second, b);
      const int owner = 4 * g + (g >> 1);
      numbers[0].dot = __shfl_sync(all_lanes, (g & 1) != 0 ? of_low[1] : of_low[0], owner);
      numbers[1].dot = __shfl_sync(all_lanes, (g & 1) != 0 ? of_high[3] : of_high[2], owner);
    }
#pragma unroll
    for (int i = 0; i < gradients; ++i) {
#pragma unroll
      for (int n = 0; n < Columns / 8; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[i][n][e] = 0.0f;
      }
    }
  }

  /// Takes `Count` tiles; bits 2 u, 2 u + 1 of seen[h] are what the lane's row g + 8 h sees of tile
  /// u. By all lanes of the warp.
  template <int Count>
  __device__ __forceinline__ void take(const PassingTiles<Columns, sums_of>& tiles,
                                       const unsigned (&seen)[2], float factor) {
    std::uint32_t weights[gradients][4] = {};  // dS and P
#pragma unroll
    for (int u = 0; u < Count; ++u) {
      float s[4] = {}, gradient[4] = {};
      add_scores<T>(s, first, tiles.first[u]);
      if constexpr (Of::has_by_score) add_scores<T>(gradient, second, tiles.second[u]);
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const RowNumbers& of_row =
            !Of::of_keys ? numbers[e >> 1] : tiles.numbers[Of::of_keys ? u : 0][e & 1];
        const float weight = exp2_approx(fmaf(s[e], factor, -of_row.subtrahend));
        const float by_score = weight * (gradient[e] - of_row.dot);
        const bool counts = (seen[e >> 1] >> (2 * u + (e & 1)) & 1u) != 0;
        s[e] = counts ? weight : 0.0f;
        gradient[e] = counts ? by_score : 0.0f;
      }
#pragma unroll
      for (int h = 0; h < 2; ++h) {
#pragma unroll
        for (int i = 0; i < gradients; ++i) {
          const float(&of)[4] = Of::by_score(i) ? gradient : s;
          weights[i][2 * u + h] = pair_of<T>(of[2 * h], of[2 * h + 1]);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < gradients; ++i) {
      if (tiles.spoilt[i] != 0) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const unsigned bits = seen[h] & tiles.spoilt[i];
#pragma unroll
          for (int u = 0; u < Count; ++u) {
            weights[i][2 * u + h] = with_nan(weights[i][2 * u + h], bits >> 2 * u);
          }
        }
      }
      __syncwarp();
#pragma unroll
      for (int n = 0; n < Columns / 8; ++n) {
        multiply_add<T>(sums[i][n], weights[i], tiles.values[i][0].pair[n],
                        tiles.values[i][Count - 1].pair[n]);
      }
    }
  }

  /// Writes the lane's share of row g + 8 h of a gradient's tensor, times `scale`.
  __device__ __forceinline__ void store(int i, int h, std::byte* share, float scale) const {
    store_share<T, Columns>(sums[i], scale, h, share, true);
  }
  /// Leaves the sums of row g + 8 h, gradient by gradient, in a partial row.
  __device__ __forceinline__ void leave(int h, float* row) const {
    const int t = static_cast<int>(threadIdx.x) & 3;
#pragma unroll
    for (int i = 0; i < gradients; ++i) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
#pragma unroll
        for (int n = 0; n < Columns / 8; n += 4) {
          *reinterpret_cast<float4*>(row + i * Columns + Columns / 8 * (2 * t + e) + n) =
              float4{sums[i][n][2 * h + e], sums[i][n + 1][2 * h + e], sums[i][n + 2][2 * h + e],
                     sums[i][n + 3][2 * h + e]};
        }
      }
    }
  }
};

/// How far a walk's window may reach: 4, 16 or 128 tokens.
enum class Reach : std::uint8_t { narrow, far, broad };

/// Registers a thread: an SM has 12 warps by rows, but for windows of 5 to 16 tokens, else 8. No
/// instantiation spills.
template <int Columns, Sums sums, Reach reach>
inline constexpr int backward_walk_registers =
    Columns == 64 || WalkSums<sums>::of_keys || reach == Reach::far ? 255 : 168;

template <typename T, int Columns, Sums sums, Reach reach>
__global__ void __maxnreg__((backward_walk_registers<Columns, sums, reach>))
    segment_backward_walk_kernel(BackwardWalkArguments call) {
  using Tiles = WalkTiles<reach != Reach::narrow, false>;
  using Of = WalkSums<sums>;
  using Passing = PassingTiles<Columns, sums>;
  using Strip = StandingStrip<T, Columns, sums>;
  using Share = RowShare<Columns>;
  using Values = ValueTile<Columns>;
  constexpr int gradients = Of::gradients;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int g = lane >> 2;
  const int t = lane & 3;
  const int number = static_cast<int>(warp_number());
  if (number >= call.walks * call.heads) return;
  // Broad walks that stand side by side share what passes by: they are of one head.
  const bool by_heads = reach != Reach::broad;
  const WorkWalk& walk = call.list.walks[by_heads ? number / call.heads : number % call.walks];
  const int head = by_heads ? number % call.heads : number / call.walks;
  const float factor = call.scale * log2_e;
  const std::uint32_t zero = static_cast<std::uint32_t>(call.head_dim) >> 16;
  const Input& standing0 = Of::of_keys ? call.k : call.q;
  const Input& standing1 = Of::of_keys ? call.v : call.grad_o;
  const Input& passing0 = Of::of_keys ? call.q : call.k;
  const Input& passing1 = Of::of_keys ? call.grad_o : call.v;
  const auto place = [&](int token) { return Place(call.items, token); };

  const auto read_globals = [&](Passing& globals) {
    const int last_global = walk.globals.count - 1;
    const auto row_of = [&](int tensor, int token, int share) {
      return HeadRows<const std::byte>(tensor == 0 ? passing0 : passing1, head).at(place(token)) +
             share;
    };
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      globals.read(
          u, call.lse + head, call.dots + head, call.heads,
          [&](int i) {
            const int position = min(8 * u + i, last_global);
            return position < 0 ? walk.rows.begin
                                : token_of(walk.globals, call.list.indices, position);
          },
          [&](int tensor, int token) { return row_of(tensor, token, Share::begin()); },
          [&](int tensor, int token) { return row_of(tensor, token, Values::begin()); });
    }
    globals.template clean_values<T, 2>();
  };
  // Beside a broad window they are a small part of a strip's work: read again for each.
  Passing held;
  if constexpr (reach != Reach::broad) read_globals(held);
  const auto with_globals = [&](auto&& use) {
    if constexpr (reach != Reach::broad) {
      use(held);
    } else {
      Passing globals;
      read_globals(globals);
      use(globals);
    }
  };
  // Whatever is not one of them is seen by nobody.
  const unsigned are_globals = sight_of<Tiles>(walk.globals.count, -1).row[0];
  const unsigned global_sight[2] = {are_globals, are_globals};

  /// What is known of `count` rows from token `first` on; D, if `leaves_dots`, is left for keys.
  const auto read_numbers = [&](Strip& strip, int first, int count, bool leaves_dots) {
    if constexpr (!Of::of_keys) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = g + 8 * h;
        const std::int64_t at =
            static_cast<std::int64_t>(first + min(row, count - 1)) * call.heads + head;
        strip.numbers[h].read_lse(call.lse, at);
        if (leaves_dots && t == 0 && row < count) call.dots[at] = strip.numbers[h].dot;
      }
    }
  };

  Strip wide;
  const bool has_wide = same_in_all(walk.wide.count) > 0;
  if (has_wide) {
    wide.begin(walk.wide.count, zero, [&](int tensor, int row) {
      const Input& of = tensor == 0 ? standing0 : tensor == 1 ? standing1 : call.o;
      return HeadRows<const std::byte>(of, head).at(place(walk.wide.begin + row)) + Share::begin();
    });
    read_numbers(wide, walk.wide.begin, walk.wide.count, walk.is_first_part != 0);
    if (walk.wide_takes_globals != 0) {
      with_globals(
          [&](const Passing& globals) { wide.template take<2>(globals, global_sight, factor); });
    }
  }

  // From here on tokens are counted from the walk's first row.
  const int rows = same_in_all(walk.rows.count);
  const int origin = same_in_all(walk.rows.begin);
  const int window = same_in_all(walk.window);
  const int keys_begin = same_in_all(walk.keys_begin) - origin;
  const int keys_end = same_in_all(walk.keys_end) - origin;
  if (rows > 0) {
    const Place its_place = place(origin);
    const RowsFrom<const std::byte> standing[2] = {{standing0, head, its_place, Share::begin()},
                                                   {standing1, head, its_place, Share::begin()}};
    const RowsFrom<const std::byte> passing[2] = {{passing0, head, its_place, Share::begin()},
                                                  {passing1, head, its_place, Share::begin()}};
    const RowsFrom<const std::byte> values[2] = {{passing0, head, its_place, Values::begin()},
                                                 {passing1, head, its_place, Values::begin()}};
    const RowsFrom<std::byte> results[2] = {
        {Of::gradient(call, 0), head, its_place, output_begin<Columns>()},
        {Of::gradient(call, 1), head, its_place, output_begin<Columns>()}};
    WalkSight whole{};
    if constexpr (reach != Reach::broad) whole = sight_of<Tiles>(0, window);
    const std::int64_t first_number = static_cast<std::int64_t>(origin) * call.heads + head;
    /// Of the band; where `may_miss` keys, the nearest in their place.
    const auto read = [&](auto may_miss, Passing& tiles, int u, int first_key) {
      tiles.read(
          u, call.lse + first_number, call.dots + first_number, call.heads,
          [&](int i) {
            if constexpr (!decltype(may_miss)::value) return first_key + i;
            return max(keys_begin, min(first_key + i, keys_end - 1));
          },
          [&](int tensor, int key) { return passing[tensor].at(key); },
          [&](int tensor, int key) { return values[tensor].at(key); });
    };
    // Of two tiles, or the first alone.
    const auto wide_sight = [&](int first_key, int keys) {
      return seen_keys<2>(origin + first_key, walk.wide_begin,
                          min(walk.wide_end, origin + first_key + keys));
    };
#pragma unroll 1
    for (int first_row = 0; first_row < rows; first_row += strip_tokens) {
      __syncwarp();
      const int here = opaque(first_row);
      Strip strip;
      // Its address would be a register of its own.
      const RowsFrom<const std::byte> o(call.o, opaque(head), its_place, Share::begin());
      strip.begin(rows - here, zero, [&](int tensor, int row) {
        return tensor == 2 ? o.at(here + row) : standing[tensor].at(here + row);
      });
      read_numbers(strip, origin + here, rows - here, true);
      /// Two tiles from `first` on, and what the wide rows take of them.
      const auto take_two = [&](auto may_miss, int first, const unsigned(&seen)[2], bool by_wide) {
        Passing tiles;
        read(may_miss, tiles, 0, first);
        read(may_miss, tiles, 1, first + 8);
        tiles.template clean_values<T, 2>();
        strip.template take<2>(tiles, seen, factor);
        if (!by_wide) return;
        const unsigned seen_by_wide = wide_sight(first, 16);
        wide.template take<2>(tiles, {seen_by_wide, seen_by_wide}, factor);
      };
      if constexpr (reach == Reach::broad) {
        const int band_from = max(keys_begin, here - window);
        // Strips' own keys are one of these 16, which is the wide rows'.
        const int band_begin = band_from - ((band_from - here) & 15);
        const int band_end = window < 0 ? band_begin : min(keys_end, here + strip_tokens + window);
        // Where the strip sees all keys of a chunk.
        const int inner_begin = max(here + strip_tokens - 1 - window, keys_begin);
        const int inner_end = min(here + window - 15, keys_end - 16);
#pragma unroll 1
        for (int first = band_begin; first < band_end; first += 16) {
          __syncwarp();
          const bool by_wide = has_wide && first == here;
          if (first >= inner_begin && first <= inner_end) {
            take_two(std::false_type{}, first, {0xfu, 0xfu}, by_wide);
            continue;
          }
          unsigned seen[2];
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            const int mine = here + g + 8 * h;
            seen[h] = seen_keys<2>(first, max(mine - window, keys_begin),
                                   min(mine + window + 1, keys_end));
          }
          take_two(std::true_type{}, first, seen, by_wide);
        }
      } else {
        const int first_key = here - Tiles::radius;
        WalkSight sight = whole;
        if (first_key < keys_begin || first_key + 8 * Tiles::of_window > keys_end) {
          sight = cut_sight<Tiles>(whole, first_key, keys_begin, keys_end);
        }
        const bool is_last = here + strip_tokens >= rows;
#pragma unroll
        for (int tile = 0; tile < Tiles::of_window; tile += 2) {
          constexpr int shift = 2 * Tiles::of_globals;
          // Row g sees tiles from 0 on, row g + 8 from 1 on.
          const unsigned low = sight.row[0] >> shift, high = sight.row[1] >> shift << 2;
          const unsigned seen[2] = {low >> 2 * tile & 0xfu, high >> 2 * tile & 0xfu};
          if (tile + 1 < Tiles::of_window) {
            // The wide rows take the keys that a strip's window begins with, and at the end all.
            take_two(std::true_type{}, first_key + 8 * tile, seen,
                     has_wide && (tile == 0 || is_last));
            continue;
          }
          Passing tiles;
          read(std::true_type{}, tiles, 0, first_key + 8 * tile);
          tiles.template clean_values<T, 1>();
          strip.template take<1>(tiles, seen, factor);
          if (has_wide && is_last) {
            const unsigned seen_by_wide = wide_sight(first_key + 8 * tile, 8);
            wide.template take<1>(tiles, {seen_by_wide, seen_by_wide}, factor);
          }
        }
      }
      // Last, when no window's rows are under way, for the registers' sake.
      if (walk.globals.count > 0) {
        with_globals(
            [&](const Passing& globals) { strip.template take<2>(globals, global_sight, factor); });
      }
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int mine = here + g + 8 * h;
        if (mine >= rows) continue;
#pragma unroll
        for (int i = 0; i < gradients; ++i) {
          strip.store(i, h, results[i].at(mine), Of::by_score(i) ? call.scale : 1.0f);
        }
      }
    }
    __syncwarp();
  }
  if (!has_wide) return;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int row = g + 8 * h;
    if (row >= walk.wide.count) continue;
    if (walk.first_slot >= 0) {
      wide.leave(h, partial_row(call, head, walk.first_slot + row));
      continue;
    }
#pragma unroll
    for (int i = 0; i < gradients; ++i) {
      std::byte* to =
          HeadRows<std::byte>(Of::gradient(call, i), head).at(place(walk.wide.begin + row));
      wide.store(i, h, to + output_begin<Columns>(), Of::by_score(i) ? call.scale : 1.0f);
    }
  }
}

/// Adds up the parts of wide rows, in their order: a warp a row and head.
template <typename T, Sums sums>
__global__ void merge_backward_walks_kernel(BackwardWalkArguments call) {
  const WalkArguments& a = call;
  const MergedWalkRow merged(a);
  if (!merged.exists) return;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  for (int column = lane; column < a.head_dim; column += 32) {
#pragma unroll
    for (int i = 0; i < WalkSums<sums>::gradients; ++i) {
      float total = 0.0f;
      for (int p = 0; p < merged.parts; ++p) total += merged.part(p)[i * a.head_dim + column];
      std::byte* row = HeadRows<std::byte>(WalkSums<sums>::gradient(call, i), merged.head)
                           .at(Place(a.items, merged.token));
      reinterpret_cast<T*>(row)[column] =
          from_float<T>(total * (WalkSums<sums>::by_score(i) ? a.scale : 1.0f));
    }
  }
}

}  // namespace attnscope::cuda
