#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A slab: 16 rows of one head in shared memory, padded with zeros to Columns numbers, and how it is
// filled from a tensor and written to one.
//
// Rows lie one after the other in 16-byte pieces, and piece p of row r stands in place
// p ^ swizzle(r). ldmatrix and the float32 products read one piece of 8 rows (float32: of 4 rows
// two apart) at a time; the swizzle spreads them over all 32 banks: where a row is 128 bytes or
// more, by r mod 8; where 2 or 4 rows share 128 bytes, by the number of the 128-byte line, so that
// the 8 pieces of 8 rows fall on 8 different places of a line.

#include "kernels/cuda/segment/arguments.h"
#include "kernels/cuda/segment/numbers.cuh"

namespace attnscope::cuda {

/// Where a token stands on the token axis of all tensors of a call.
struct Place {
  std::uint32_t item, token_of_item;

  __device__ __forceinline__ Place(const ItemDivision& items, int token) {
    const auto number = static_cast<std::uint32_t>(token);
    item = 0;
    token_of_item = number;
    if (items.tokens == 0) return;
    item = items.tokens == 1 ? number
                             : static_cast<std::uint32_t>(
                                   static_cast<std::uint64_t>(number) * items.multiplier >> 32) >>
                                   items.shift;
    token_of_item = number - item * items.tokens;
  }
};

/// The token rows of a tensor's head; `base` is token 0's row.
template <typename Byte>
struct HeadRows {
  Byte* base;
  std::int64_t token_stride;
  std::int64_t item_stride;

  __device__ __forceinline__ HeadRows(const DeviceTensor<Byte>& tensor, int head)
      : base(tensor.data + head * tensor.head_stride),
        token_stride(tensor.token_stride),
        item_stride(tensor.item_stride) {}

  __device__ __forceinline__ Byte* at(const Place& place) const {
    return base + place.item * item_stride + place.token_of_item * token_stride;
  }
};

/// Token at `position` of a run.
__device__ inline int token_of(const WorkRun& run, const std::int32_t* indices, int position) {
  return run.listed != 0 ? indices[run.begin + position] : run.begin + position;
}

template <typename T, int Columns>
struct Slab {
  static constexpr int row_bytes = Columns * static_cast<int>(sizeof(T));
  static constexpr int bytes = 16 * row_bytes;
  static constexpr int pieces = row_bytes / 16;
  static constexpr int piece_numbers = 16 / static_cast<int>(sizeof(T));
  // A warp fills up to 2 kB at once: four copies of 16 bytes a lane.
  static constexpr int filled_rows = row_bytes > 128 ? 2048 / row_bytes : 16;
  static constexpr int fills = 16 / filled_rows;

  static __device__ __forceinline__ int swizzle(int row) {
    if constexpr (pieces % 8 == 0) return row & 7;
    if constexpr (pieces == 4) return (row >> 1) & 3;
    return (row >> 2) & 1;
  }
  /// In bytes from the slab's beginning.
  static __device__ __forceinline__ int place(int row, int piece) {
    return row * row_bytes + ((piece ^ swizzle(row)) << 4);
  }
  /// The same for piece + constant, which have no bit in common; `constant` is known when it is
  /// compiled. The swizzle changes a piece's lowest three bits alone, so that all places of a row
  /// differ from four by an immediate offset, and no register holds each.
  static __device__ __forceinline__ int place(int row, int piece, int constant) {
    return row * row_bytes + ((piece ^ swizzle(row) ^ (constant & 7)) << 4) + (constant >> 3) * 128;
  }
  static __device__ __forceinline__ int place_of_number(int row, int column) {
    return place(row, column / piece_numbers) +
           column % piece_numbers * static_cast<int>(sizeof(T));
  }

  /// Starts filling rows [first_row, first_row + filled_rows) of the first `Tensors` slabs in a row
  /// with the run's tokens from `position` on, of which `count` exist; what lies beyond, in rows
  /// and columns, becomes 0.
  template <int Tensors>
  static __device__ __forceinline__ void fill(std::byte* slab,
                                              const HeadRows<const std::byte> (&rows)[Tensors],
                                              const int (&slab_at)[Tensors], const WorkRun& run,
                                              int position, int count, int first_row,
                                              const UnitArguments& arguments) {
    const int lane = static_cast<int>(threadIdx.x) & 31;
    const std::int32_t* indices = arguments.list.indices;
    if (arguments.vector) {
      const int row_end = arguments.head_dim * static_cast<int>(sizeof(T));
#pragma unroll(pieces > 16 ? 1 : 4)
      for (int pass = 0; pass < filled_rows * pieces / 32; ++pass) {
        const int i = 32 * pass + lane;
        const int row = first_row + i / pieces;
        const int piece = i % pieces;
        const bool valid = row < count && piece * 16 < row_end;
        const Place token(arguments.items, valid ? token_of(run, indices, position + row) : 0);
        std::byte* to = slab + place(row, piece);
#pragma unroll
        for (int x = 0; x < Tensors; ++x) {
          copy_async<16>(to + slab_at[x], rows[x].at(token) + (valid ? piece * 16 : 0), valid);
        }
      }
      return;
    }
#pragma unroll 1
    for (int row = first_row; row < first_row + filled_rows; ++row) {
      const Place token(arguments.items, row < count ? token_of(run, indices, position + row) : 0);
#pragma unroll
      for (int x = 0; x < Tensors; ++x) {
        const T* from = reinterpret_cast<const T*>(rows[x].at(token));
#pragma unroll 1
        for (int column = lane; column < Columns; column += 32) {
          const bool valid = row < count && column < arguments.head_dim;
          *reinterpret_cast<T*>(slab + slab_at[x] + place_of_number(row, column)) =
              valid ? from[column] : from_float<T>(0.0f);
        }
      }
    }
  }
};

}  // namespace attnscope::cuda
