#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Common code of all kernels of the band: the task of a block, rows of tensors, the key of a
// column.

#include "engine/attention/longformer_banded/kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/rows.cuh"

namespace attnscope::longformer_banded {

using cuda::from_float;
using cuda::to_float;

struct BlockPlace {
  std::int32_t entry;  // of tasks or runs
  std::int64_t block;  // within the entry
};

/// The first cell of a block, in its shared memory.
struct FirstCell {
  std::int64_t score;
  std::int32_t task, head, row, column;
};

/// Size of the partial sums of a block there.
inline constexpr std::int64_t shared_of_sums =
    block_threads * static_cast<std::int64_t>(sizeof(float));

__device__ inline BlockPlace place_of_block(const Firsts& firsts) {
  const auto block = static_cast<std::int64_t>(blockIdx.x);
  std::int32_t low = 0, high = firsts.entries;
  while (high - low > 1) {
    const std::int32_t middle = (low + high) / 2;
    if (firsts.firsts[middle] <= block) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return {low, block - firsts.firsts[low]};
}

/// A tensor's rows for one head.
template <typename T>
struct Rows {
  T* first;  // of token 0
  std::int64_t token_stride, item_stride;
  std::int32_t item_tokens;

  __device__ Rows(const View& view, std::int32_t head)
      : first(reinterpret_cast<T*>(view.data) + head * view.head_stride),
        token_stride(view.token_stride),
        item_stride(view.item_stride),
        item_tokens(view.item_tokens) {}

  __device__ T* row(std::int32_t token) const {
    if (item_tokens == 0) return first + token * token_stride;
    return first + token / item_tokens * item_stride + token % item_tokens * token_stride;
  }
  /// The first token after `token` that is not a token_stride further, or `end`.
  __device__ std::int32_t end_of_run(std::int32_t token, std::int32_t end) const {
    if (item_tokens == 0) return end;
    const std::int32_t of_item = token - token % item_tokens + item_tokens;
    return of_item < end ? of_item : end;
  }
};

__device__ inline std::int32_t query_of(const ListsOnDevice& lists, const DeviceTask& task,
                                        std::int32_t row) {
  return task.listed != 0 ? lists.indices[task.queries + row] : task.queries + row;
}

/// The first of the ascending indices [begin, end) that is at least `token`.
__device__ inline std::int32_t first_index(const ListsOnDevice& lists, std::int32_t begin,
                                           std::int32_t end, std::int32_t token) {
  while (begin < end) {
    const std::int32_t middle = begin + (end - begin) / 2;
    if (lists.indices[middle] < token) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

__device__ inline bool is_skipped(const ListsOnDevice& lists, const DeviceSegment& segment,
                                  std::int32_t key) {
  const std::int32_t place = first_index(lists, segment.skip_begin, segment.skip_end, key);
  return place < segment.skip_end && lists.indices[place] == key;
}

struct Keys {
  std::int32_t begin, end;
  std::int32_t origin;  // the key of the segment's first column
};

/// The keys of a segment over a range that a query attends to, skipped ones included.
__device__ inline Keys seen_keys(const DeviceSegment& segment, std::int32_t query) {
  Keys keys{segment.begin, segment.end, segment.begin};
  if (segment.kind == SegmentKind::band) {
    const std::int32_t first = query + segment.shift, last = first + segment.reach;
    if (segment.by_key == 0) keys.origin = first;
    keys.begin = first > segment.begin ? first : segment.begin;
    keys.end = last < segment.end ? last : segment.end;
  } else if (segment.kind == SegmentKind::block) {
    const std::int32_t opposite = query + segment.offset;
    if (opposite < segment.begin || opposite >= segment.end) return {0, 0, 0};
    keys.origin = opposite - (opposite - segment.begin) % segment.columns;
    keys.begin = keys.origin;
    const std::int32_t last = keys.origin + segment.columns;
    keys.end = last < segment.end ? last : segment.end;
  }
  return keys;
}

inline constexpr std::int32_t no_key = -1;

/// The key of a column in a query's row.
__device__ inline std::int32_t key_of_column(const ListsOnDevice& lists, const DeviceTask& task,
                                             std::int32_t query, std::int32_t column) {
  for (std::int32_t s = task.first_segment; s < task.first_segment + task.segments; ++s) {
    const DeviceSegment& segment = lists.segments[s];
    if (column >= segment.columns) {
      column -= segment.columns;
      continue;
    }
    std::int32_t key = 0;
    if (segment.listed != 0) {
      key = lists.indices[segment.begin + column];
    } else {
      const Keys keys = seen_keys(segment, query);
      key = keys.origin + column;
      if (key < keys.begin || key >= keys.end) return no_key;
    }
    return is_skipped(lists, segment, key) ? no_key : key;
  }
  return no_key;
}

template <typename T>
inline constexpr int numbers_of_piece = 16 / static_cast<int>(sizeof(T));

template <typename T>
__device__ inline float dot(const T* x, const T* y, std::int32_t head_dim, bool aligned) {
  float sum = 0.0F;
  if (aligned) {
    constexpr int piece = numbers_of_piece<T>;
    struct alignas(16) Piece {
      T values[piece];
    };
#pragma unroll 4
    for (std::int32_t i = 0; i < head_dim; i += piece) {
      Piece a, b;
      *reinterpret_cast<uint4*>(&a) = *reinterpret_cast<const uint4*>(x + i);
      *reinterpret_cast<uint4*>(&b) = *reinterpret_cast<const uint4*>(y + i);
#pragma unroll
      for (int j = 0; j < piece; ++j) sum = fmaf(to_float(a.values[j]), to_float(b.values[j]), sum);
    }
    return sum;
  }
  for (std::int32_t i = 0; i < head_dim; ++i) sum = fmaf(to_float(x[i]), to_float(y[i]), sum);
  return sum;
}

/// Launches the kernel for the arguments' type.
inline Status launch_typed(const char* name, void (*float32)(BandArguments),
                           void (*float16)(BandArguments), void (*bfloat16)(BandArguments),
                           std::int64_t shared_bytes, const BandArguments& arguments,
                           std::int64_t blocks, cuda::Stream stream) {
  void (*kernel)(BandArguments) = float32;
  if (arguments.dtype == DType::float16) kernel = float16;
  if (arguments.dtype == DType::bfloat16) kernel = bfloat16;
  return cuda::launch(name, kernel, {blocks, block_threads, shared_bytes}, stream, arguments);
}

}  // namespace attnscope::longformer_banded
