#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Results that several units share: each strip or tile leaves float32 partial rows in the
// workspace and arrives at the merge's counter; the one that arrives last merges all parts in their
// order, so the result does not depend on who that is, and leaves the counter 0.

#include "kernels/cuda/segment/stream.cuh"

namespace attnscope::cuda {

__device__ __forceinline__ float* partial_row(const UnitOfBlock& block, int slot) {
  const UnitArguments& a = block.arguments;
  return a.partials + (block.head * a.partial_rows + slot) * a.partial_pitch;
}

__device__ __forceinline__ unsigned* counter_of(const UnitOfBlock& block, int merge,
                                                int column_parts) {
  const UnitArguments& a = block.arguments;
  return a.counters +
         (static_cast<std::int64_t>(merge) * column_parts + block.column_part) * a.heads +
         block.head;
}

/// Leaves sums [n][e] of the strip's rows at columns `first_column` + ... of their partial rows.
template <int Kept>
__device__ __forceinline__ void leave_partial(const UnitOfBlock& block,
                                              const float (&sums)[Kept / 8][4], int first_column,
                                              int offset) {
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int g = lane >> 2;
  const int rows = block.run().count;
  const int first_slot = block.part().first_slot;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = g + 8 * i;
    if (row >= rows) continue;
    float* to = partial_row(block, first_slot + row) + offset;
#pragma unroll
    for (int n = 0; n < Kept / 8; ++n) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int column = first_column + 8 * n + 2 * (lane & 3) + e;
        if (column < block.arguments.head_dim) to[column] = sums[n][2 * i + e];
      }
    }
  }
}

/// Rows of a merge that one warp brings together.
struct MergedRows {
  WorkMerge merge;
  int first, last;  // of merge.run
};

/// The merge of the unit's tile (number 0) or of its extra strip number - 1; -1: none.
__device__ __forceinline__ int merge_of(const UnitOfBlock& block, int number) {
  if (number == 0) return block.unit().part.merge;
  return block.arguments.list.strips[block.unit().first_extra + number - 1].part.merge;
}

/// After the strips' partial rows are left. Calls merger(MergedRows) for warps whose rows are
/// complete; to be called by all warps of the block.
template <typename Merger>
__device__ __forceinline__ void arrive(const UnitOfBlock& block, int column_parts, int* votes,
                                       const Merger& merger) {
  bool any = false;
  for (int i = 0; i <= block.unit().extras; ++i) any = any || merge_of(block, i) >= 0;
  if (!any) return;
  __threadfence();
  __syncthreads();
  const int thread = static_cast<int>(threadIdx.x);
  if (thread <= block.unit().extras) {
    const int merge = merge_of(block, thread);
    bool is_last = false;
    if (merge >= 0) {
      const auto parts = static_cast<unsigned>(block.arguments.list.merges[merge].parts);
      is_last = atomicAdd(counter_of(block, merge, column_parts), 1u) + 1u == parts;
      __threadfence();
    }
    votes[thread] = is_last ? 1 : 0;
  }
  __syncthreads();
  const int mine = block.is_main() ? 0 : block.extra() + 1;
  if (mine > block.unit().extras || votes[mine] == 0) return;
  const int number = merge_of(block, mine);
  const WorkMerge merge = block.arguments.list.merges[number];
  const int first = block.is_main() ? strip_tokens * block.warp() : 0;
  const int last = min(first + strip_tokens, merge.run.count);
  if (first < last) merger(MergedRows{merge, first, last});
  if ((thread & 31) == 0 && first == 0) *counter_of(block, number, column_parts) = 0;
}

/// Writes the lane's columns of a merged row.
template <typename T>
__device__ __forceinline__ void store_column(const HeadRows<std::byte>& rows, const Place& token,
                                             int column, float value) {
  reinterpret_cast<T*>(rows.at(token))[column] = from_float<T>(value);
}

/// Writes sums [n][e] of the strip's rows, times a factor for each of the lane's two rows, to the
/// columns from `first_column` on. 16-bit rows are put together in the strip's slab, so that memory
/// sees whole 16-byte pieces side by side; float32 fragments fill 32-byte sectors as they are.
template <typename T, int Columns, int Kept>
__device__ __forceinline__ void store_rows(const UnitOfBlock& block, std::byte* slab,
                                           const HeadRows<std::byte>& rows,
                                           const float (&sums)[Kept / 8][4],
                                           const float (&factor)[2], int first_column) {
  using Rows = Slab<T, Columns>;
  const UnitArguments& a = block.arguments;
  const WorkRun run = block.run();
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int g = lane >> 2;
  const int t = lane & 3;
  if constexpr (sizeof(T) == 4) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = g + 8 * i;
      if (row >= run.count) continue;
      auto* to =
          reinterpret_cast<float*>(rows.at(Place(a.items, token_of(run, a.list.indices, row))));
#pragma unroll
      for (int n = 0; n < Kept / 8; ++n) {
        const int column = first_column + 8 * n + 2 * t;
        const float low = sums[n][2 * i] * factor[i];
        const float high = sums[n][2 * i + 1] * factor[i];
        if (a.vector) {
          if (column < a.head_dim) *reinterpret_cast<float2*>(to + column) = make_float2(low, high);
          continue;
        }
        if (column < a.head_dim) to[column] = low;
        if (column + 1 < a.head_dim) to[column + 1] = high;
      }
    }
  } else {
    __syncwarp();  // the slab's last readers are done
#pragma unroll
    for (int n = 0; n < Kept / 8; ++n) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        *reinterpret_cast<std::uint32_t*>(slab + first_column * static_cast<int>(sizeof(T)) +
                                          Rows::place(g + 8 * i, 0, n) + 4 * t) =
            pair_of<T>(sums[n][2 * i] * factor[i], sums[n][2 * i + 1] * factor[i]);
      }
    }
    __syncwarp();
    constexpr int pieces = Kept / 8;
    if (a.vector) {
#pragma unroll 1
      for (int pass = 0; pass < pieces / 2; ++pass) {
        const int row = (32 * pass + lane) / pieces;
        const int column = first_column + 8 * ((32 * pass + lane) % pieces);
        if (row >= run.count || column >= a.head_dim) continue;
        std::byte* to = rows.at(Place(a.items, token_of(run, a.list.indices, row))) + 2 * column;
        *reinterpret_cast<uint4*>(to) =
            *reinterpret_cast<const uint4*>(slab + Rows::place(row, column / 8));
      }
      return;
    }
#pragma unroll 1
    for (int row = 0; row < run.count; ++row) {
      auto* to = reinterpret_cast<T*>(rows.at(Place(a.items, token_of(run, a.list.indices, row))));
      const int end = min(a.head_dim, first_column + Kept);
      for (int column = first_column + lane; column < end; column += 32) {
        to[column] = *reinterpret_cast<const T*>(slab + Rows::place_of_number(row, column));
      }
    }
  }
}

}  // namespace attnscope::cuda
