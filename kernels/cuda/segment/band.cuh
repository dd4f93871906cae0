#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The tokens of a walk's band, streamed in chunks of 16 to steps of several strips: forward
// (broad_walk.cuh) and backward (walk_backward.cuh). Chunks have the same alignment in all steps of
// a walk. Nothing is checked meanwhile: a step whose result is not finite is computed again in the
// careful mode.
//
//   inner chunks   all rows of the step attend to all tokens: no comparisons, and the next chunk's
//                  rows are `16 * stride` further
//   rim chunks     the others, and all in the careful mode: strips that attend to none of the
//   tokens
//                  are skipped, and scores are masked beyond a window or the run of tokens
//
// A chunk is loaded while the previous one is computed: the operands of scores after their last
// use, and so are the values: in another order they would be loaded into other registers, and
// moved.

#include "kernels/cuda/segment/walk.cuh"

namespace attnscope::cuda {

/// A walk's rows and its band, counted from the first row (without rows, from the token read
/// instead of it).
struct WalkBand {
  int rows, window, keys_begin, keys_end;

  __device__ __forceinline__ explicit WalkBand(const WorkWalk& walk)
      : rows(same_in_all(walk.rows.count)),
        window(same_in_all(walk.window)),
        keys_begin(same_in_all(walk.keys_begin - walk.rows.begin)),
        keys_end(same_in_all(walk.keys_end - walk.rows.begin)) {}

  /// Whether the 16 tokens from `first` on exist.
  [[nodiscard]] __device__ __forceinline__ bool has_chunk(int first) const {
    return first >= keys_begin && first + 16 <= keys_end;
  }
  [[nodiscard]] __device__ __forceinline__ int nearest(int token) const {
    return max(keys_begin, min(token, keys_end - 1));
  }
  /// Whether a strip attends to one of the 16 tokens that begin `distance` after its first row.
  [[nodiscard]] __device__ __forceinline__ bool is_seen(int distance) const {
    return static_cast<unsigned>(distance + window + 15) <= static_cast<unsigned>(2 * window + 30);
  }
  /// Masks the scores of such a strip; `first` is the first token.
  __device__ __forceinline__ void cut(ChunkScores& s, int first, int distance) const {
    cut_by_window(s, distance, window);
    if (!has_chunk(first)) cut_ends(s, first);
  }

 private:
  __device__ __forceinline__ void cut_ends(ChunkScores& s, int first) const {
    cut_by_keys(s, first, keys_begin, keys_end);
  }
};

/// The chunks to which a step's rows attend, by their distances from its first row. `phase`: how
/// far before a step's first row a chunk begins.
struct StepChunks {
  int begin, end, inner_begin, inner_end;

  __device__ __forceinline__ StepChunks(const WalkBand& band, int row, int step, int phase,
                                        bool careful)
      : begin(((max(band.keys_begin - row, -band.window) + phase) & ~15) - phase) {
    const int after = min(step, band.rows - row) + band.window;
    end = band.window < 0 ? begin : min(band.keys_end - row, after);
    // `opaque` avoids recomputation for every chunk.
    inner_begin = opaque(max(band.keys_begin - row, step - 1 - band.window));
    inner_end = opaque(careful ? inner_begin : min(band.keys_end - row - 31, band.window - 14));
  }
  [[nodiscard]] __device__ __forceinline__ bool is_inner(int distance) const {
    return distance >= inner_begin && distance < inner_end;
  }
};

__device__ __forceinline__ RowNumbers read_numbers(const RowNumbers* of) {
  const float2 both = __ldg(reinterpret_cast<const float2*>(of));
  return {both.x, both.y};
}

/// 16 streamed tokens as loaded; tile u has those from 8 u on. `Of` names what a kernel needs:
///
///   has_second     a second operand of scores, from the second of the two streamed tensors
///   gradients      how many sums of values there are (forward: 1)
///   tensor_of(i)   the streamed tensor of sum i's values
///   of_keys        whether rows are streamed, with their numbers
template <int Columns, typename Of>
struct PassingChunk {
  RowShare<Columns> first[2], second[2];                       // of token g of a tile
  typename ValueTile<Columns>::Rows values[Of::gradients][2];  // of tokens 2 t and 2 t + 1
  RowNumbers numbers[2][2];                                    // of these
};

/// Where the band's tokens are.
template <int Columns, typename Of>
struct BandRows {
  using Chunk = PassingChunk<Columns, Of>;
  using Rows = RowsFrom<const std::byte>;

  const WalkBand& band;
  Rows scored[2], summed[2];  // from rows g and 2 t on
  const RowNumbers* numbers;  // of row 2 t

  __device__ __forceinline__ BandRows(const WalkBand& of, const Input& first, const Input& second,
                                      int head, const Place& origin,
                                      const RowNumbers* of_origin = nullptr)
      : band(of),
        scored{{first, head, origin, RowShare<Columns>::begin(), g_of_lane()},
               {second, head, origin, RowShare<Columns>::begin(), g_of_lane()}},
        summed{{first, head, origin, ValueTile<Columns>::begin(), 2 * t_of_lane()},
               {second, head, origin, ValueTile<Columns>::begin(), 2 * t_of_lane()}},
        numbers(of_origin + 2 * t_of_lane()) {}

  /// Loads the operands of scores, or the rest, of the 16 tokens from `first` on, if all exist.
  __device__ __forceinline__ void read_scored(Chunk& chunk, int first) const {
#pragma unroll
    for (int i = 0; i < (Of::has_second ? 2 : 1); ++i) {
      RowShare<Columns>(&to)[2] = i == 0 ? chunk.first : chunk.second;
      const std::byte* at = scored[i].at(first);
      to[0].read(at);
      to[1].read(row_at(at, 8, scored[i].stride));
    }
  }
  __device__ __forceinline__ void read_summed(Chunk& chunk, int first) const {
#pragma unroll
    for (int i = 0; i < Of::gradients; ++i) {
      const Rows& of = summed[Of::tensor_of(i)];
      const std::byte *at = of.at(first), *after = row_at(at, 8, of.stride);
      chunk.values[i][0].read(at, row_at(at, 1, of.stride));
      chunk.values[i][1].read(after, row_at(after, 1, of.stride));
    }
    if constexpr (Of::of_keys) {
#pragma unroll
      for (int e = 0; e < 4; ++e)
        chunk.numbers[e / 2][e % 2] = read_numbers(numbers + first + 8 * (e / 2) + e % 2);
    }
  }
  /// The nearest token replaces a missing one.
  __device__ __forceinline__ void read(Chunk& chunk, int first) const {
    if (band.has_chunk(first)) {
      read_scored(chunk, first);
      read_summed(chunk, first);
    } else {
      read_nearest(chunk, first);
    }
  }

  __device__ __forceinline__ void read_next(Chunk& chunk, int first) const {
    read(chunk, first + 16);
  }

 private:
  __device__ __forceinline__ void read_nearest(Chunk& chunk, int first) const {
    const auto near = [&](int own, int after) { return band.nearest(first + own + after) - own; };
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      const int token = near(g_of_lane(), 8 * u);
      chunk.first[u].read(scored[0].at(token));
      if constexpr (Of::has_second) chunk.second[u].read(scored[1].at(token));
      const int even = near(2 * t_of_lane(), 8 * u), odd = near(2 * t_of_lane(), 8 * u + 1);
#pragma unroll
      for (int i = 0; i < Of::gradients; ++i) {
        const Rows& of = summed[Of::tensor_of(i)];
        chunk.values[i][u].read(of.at(even), of.at(odd));
      }
      if constexpr (Of::of_keys) {
        chunk.numbers[u][0] = read_numbers(numbers + even);
        chunk.numbers[u][1] = read_numbers(numbers + odd);
      }
    }
  }
};

/// In the careful mode: removes numbers that are not finite from a chunk's values, and returns
/// their keys in bits 2 u, 2 u + 1. Called by all lanes of the warp.
template <typename T, int Columns>
__device__ __forceinline__ unsigned clean_chunk(ValueTile<Columns> (&values)[2]) {
  unsigned spoilt = 0;
  clean<T, 0, 2>(values, spoilt);
  return spoilt;
}

/// Calls take_step(row, careful) for a warp's steps of a walk, which returns whether the step has
/// to be computed again: all, or every second one.
template <typename TakeStep>
__device__ __forceinline__ void take_steps(const WorkWalk& walk, int rows, int step,
                                           const TakeStep& take_step) {
  const int apart = same_in_all(walk.steps_apart) * step;
  int row = same_in_all(walk.first_step) * step;
  bool again = false;
  do {
    again = take_step(row, again) && !again;
    row += again ? 0 : apart;
  } while (row < rows);
  __syncwarp();
}

}  // namespace attnscope::cuda
