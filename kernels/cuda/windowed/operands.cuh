#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a block works on, and its operands in global and shared memory: rows of tensors, staging,
// which strip of 16 rows each warp has and which places it sees.

#include "kernels/cuda/rows.cuh"
#include "kernels/cuda/windowed/arguments.h"

namespace attnscope::cuda::windowed {

inline constexpr int warps = block_threads / 32;

__device__ inline int lane_id() {
  return static_cast<int>(threadIdx.x) % 32;
}
__device__ inline int warp_id() {
  return static_cast<int>(threadIdx.x) / 32;
}
__device__ inline std::int32_t larger(std::int32_t a, std::int32_t b) {
  return a > b ? a : b;
}
__device__ inline std::int32_t smaller(std::int32_t a, std::int32_t b) {
  return a < b ? a : b;
}

/// Bytes from one staged row to the next: 16 more than a row of `dim` numbers, so that eight rows'
/// 16-byte pieces at one column lie in eight different groups of four banks - what ldmatrix and
/// reads of 16 bytes by eight lanes touch together.
template <typename T, int dim>
inline constexpr int row_bytes = dim* static_cast<int>(sizeof(T)) + 16;

/// Rows of a chunk that is staged at a time: up to 32 kB.
template <typename T, int dim>
inline constexpr int chunk_rows = [] {
  constexpr int fitting = 32 * 1024 / row_bytes<T, dim> / 16 * 16;
  return fitting < 32 ? 32 : fitting > 192 ? 192 : fitting;
}();

/// A chunk and the rows of zeros behind it, where the last step of 16 may end.
template <typename T, int dim>
inline constexpr int chunk_bytes = (chunk_rows<T, dim> + 16) * row_bytes<T, dim>;

/// The rows of a tensor's head, from a column on.
template <typename Byte>
__device__ HeadRows<Byte> rows_from(const DeviceTensor<Byte>& tensor, std::int32_t head,
                                    std::int64_t first_byte) {
  HeadRows<Byte> rows(tensor, head);
  rows.base += first_byte;
  return rows;
}

/// The places that a rule leaves out.
struct Skips {
  const std::uint32_t* words;
  std::int32_t begin, end;

  __device__ Skips(const DeviceLists& lists, const Rule& rule)
      : words(lists.skip_words + (rule.skips < 0 ? 0 : rule.skips)),
        begin(rule.skip_begin),
        end(rule.skip_end) {}

  __device__ bool hold(std::int32_t place) const {
    if (place < begin || place >= end) return false;
    const std::int32_t bit = place - begin;
    return (words[bit / 32] >> (bit % 32) & 1U) != 0;
  }
};

/// Starts copying the run's rows to shared memory, columns from `columns` to `dim` and the 16 rows
/// behind becoming 0. The block takes part; it waits with staged().
template <typename T, int dim>
__device__ void stage(std::byte* shared, const HeadRows<const std::byte>& rows,
                      std::int32_t columns, const Arguments& a, const WorkRun& run) {
  constexpr int stride = row_bytes<T, dim>;
  const int count = run.count, all = (count + 15) / 16 * 16 + 16;
  const auto row = [&](int r) {
    return rows.at(Place(a.items, token_of(run, a.lists.indices, r)));
  };
  if (a.vector) {
    constexpr int pieces = dim * static_cast<int>(sizeof(T)) / 16;
    constexpr int per_piece = 16 / static_cast<int>(sizeof(T));
    for (int i = static_cast<int>(threadIdx.x); i < all * pieces; i += block_threads) {
      const int r = i / pieces, c = i % pieces;
      const bool there = r < count && c * per_piece < columns;
      copy_async<16>(shared + r * stride + c * 16, there ? row(r) + c * 16 : rows.base, there);
    }
  } else {
    for (int i = static_cast<int>(threadIdx.x); i < all * dim; i += block_threads) {
      const int r = i / dim, c = i % dim;
      T value = from_float<T>(0.0f);
      if (r < count && c < columns) value = reinterpret_cast<const T*>(row(r))[c];
      reinterpret_cast<T*>(shared + r * stride)[c] = value;
    }
  }
}

/// Rows staged by all threads are there for all.
__device__ inline void staged() {
  commit_copies();
  wait_for_copies<0>();
  __syncthreads();
}

/// What a block of a summing kernel works on.
struct BlockPlace {
  std::uint32_t unit;
  std::int32_t head;          // of the unit's
  std::int32_t first_column;  // of the sums
  std::int32_t columns;       // from there to the end of a row

  __device__ BlockPlace(const Arguments& a, std::int32_t dim) {
    // Known to the compiler where there is one part.
    const std::uint32_t parts = dim < 128 ? 1 : static_cast<std::uint32_t>(a.column_parts);
    const auto heads = static_cast<std::uint32_t>(a.heads_per_unit);
    const std::uint32_t block = blockIdx.x / parts;
    unit = block / heads;
    head = static_cast<std::int32_t>(block % heads);
    first_column = static_cast<std::int32_t>(blockIdx.x % parts) * dim;
    columns = a.head_dim - first_column;
  }
};

/// A warp's strip of 16 rows of a unit. Where there are one or two, several warps share one and
/// take its steps in turn.
struct Strip {
  int strip = 0;  // rows 16 strip ... of the unit
  int share = 0;  // of `shares` warps
  int shares = 1;
  bool active = false;

  __device__ explicit Strip(std::int32_t rows) {
    const int strips = (rows + strip_rows - 1) / strip_rows;
    shares = warps / strips;
    strip = warp_id() % strips;
    share = warp_id() / strips;
    active = share < shares;
  }
};

/// A strip's rows against one span.
struct StripPlaces {
  std::int32_t rows;       // 1 to 16
  std::int32_t low, high;  // places that any of them sees
  std::int32_t seen;       // in lane r, the first of row r % 16; where there is none, of the last

  __device__ StripPlaces(const DeviceLists& lists, const WorkRun& unit, const Rule& rule,
                         int strip) {
    const std::int32_t first = strip * strip_rows;
    rows = smaller(unit.count - first, strip_rows);
    const std::int32_t row = lane_id() % strip_rows < rows ? lane_id() % strip_rows : rows - 1;
    seen = first_seen(rule, token_of(unit, lists.indices, first + row));
    low = __shfl_sync(all_lanes, seen, 0);
    high = __shfl_sync(all_lanes, seen, strip_rows - 1) + rule.reach;
  }

  __device__ std::int32_t seen_by_row(int row) const { return __shfl_sync(all_lanes, seen, row); }
};

}  // namespace attnscope::cuda::windowed
