// SPDX-License-Identifier: Apache-2.0
//
// One thread per number of a result: the sum over the cells of its row, or over those of its key in
// the rows that attend to it. Adjacent threads have adjacent numbers of one row, so that reads of
// rows are coalesced. Parts of long sums are stored in shared memory and added in order.

#include "engine/attention/longformer_banded/band.cuh"

namespace attnscope::longformer_banded {
namespace {

/// The share of a thread in a block of sums.
struct Share {
  std::int32_t sum;   // within the block
  std::int32_t part;  // within the sum's terms
  std::int32_t parts;
  std::int32_t number;  // column of the row: 0 ... head_dim - 1
  bool there;

  __device__ Share(std::int32_t head_dim, std::int32_t of_parts, std::int32_t sums)
      : parts(of_parts) {
    const auto thread = static_cast<std::int32_t>(threadIdx.x);
    const std::int32_t threads = head_dim * parts;
    sum = thread / threads;
    part = thread % threads / head_dim;
    number = thread % head_dim;
    there = sum < sums;
  }

  /// The first of `terms` in this part (for the next part: one past the last of this part).
  __device__ std::int32_t first_of(std::int32_t terms, std::int32_t of_part) const {
    return static_cast<std::int32_t>(std::int64_t{terms} * of_part / parts);
  }
};

/// Adds up the parts of a sum in order; all threads of the block participate. Part 0 gets the
/// total.
__device__ float joined(const Share& share, float sum, std::int32_t head_dim) {
  if (share.parts == 1) return sum;
  auto* parts = reinterpret_cast<float*>(cuda::dynamic_shared());
  parts[threadIdx.x] = sum;
  __syncthreads();
  if (!share.there || share.part != 0) return sum;
  for (std::int32_t p = 1; p < share.parts; ++p) sum += parts[threadIdx.x + p * head_dim];
  return sum;
}

// Number of terms summed before their sum is added to the others: a single float32 sum of thousands
// of terms would lose the last digits of later terms.
constexpr std::int32_t together = 256;

/// sum + the weighted numbers of adjacent tokens' rows; weights are `weight_step` apart.
template <typename T>
__device__ float sum_of_tokens(float sum, const float* weight, std::int64_t weight_step,
                               const Rows<const T>& rows, std::int32_t begin, std::int32_t end,
                               std::int32_t number) {
  while (begin < end) {
    const std::int32_t some = end - begin > together ? begin + together : end;
    const std::int32_t stop = rows.end_of_run(begin, some);
    const T* x = rows.row(begin) + number;
    float latest = 0.0F;
#pragma unroll 4
    for (std::int32_t t = begin; t < stop; ++t) {
      latest = fmaf(*weight, to_float(*x), latest);
      weight += weight_step;
      x += rows.token_stride;
    }
    sum += latest;
    begin = stop;
  }
  return sum;
}

/// The same over a segment of a row: columns [first, last), without skipped keys.
template <typename T>
__device__ float sum_of_segment(float sum, const ListsOnDevice& lists, const DeviceSegment& segment,
                                const Rows<const T>& rows, const float* weights, std::int32_t query,
                                std::int32_t first, std::int32_t last, std::int32_t number) {
  if (segment.listed != 0) {
    for (std::int32_t c = first; c < last; ++c) {
      const std::int32_t key = lists.indices[segment.begin + c];
      if (is_skipped(lists, segment, key)) continue;
      sum = fmaf(weights[c], to_float(rows.row(key)[number]), sum);
    }
    return sum;
  }
  const Keys keys = seen_keys(segment, query);
  std::int32_t begin = keys.origin + first, end = keys.origin + last;
  if (begin < keys.begin) begin = keys.begin;
  if (end > keys.end) end = keys.end;
  std::int32_t skip = first_index(lists, segment.skip_begin, segment.skip_end, begin);
  while (begin < end) {
    std::int32_t stop = end;
    if (skip < segment.skip_end && lists.indices[skip] < end) stop = lists.indices[skip++];
    sum = sum_of_tokens(sum, weights + (begin - keys.origin), 1, rows, begin, stop, number);
    begin = stop + 1;
  }
  return sum;
}

template <typename T>
__global__ __launch_bounds__(block_threads) void banded_row_sums_kernel(BandArguments a) {
  const BlockPlace place = place_of_block(a.lists.row_sums);
  const DeviceTask& task = a.lists.tasks[place.entry];
  Share share(a.head_dim, task.parts, task.sums);
  const std::int64_t row = place.block * task.sums + share.sum;
  share.there = share.there && row < std::int64_t{task.rows} * task.heads;
  std::int32_t head = 0, query = 0;
  float sum = 0.0F;
  if (share.there) {
    head = task.first_head + static_cast<std::int32_t>(row / task.rows);
    query = query_of(a.lists, task, static_cast<std::int32_t>(row % task.rows));
    const Rows<const T> rows(a.y, head);
    const float* weights = a.scores + task.first_score + row * task.columns;
    const std::int32_t begin = share.first_of(task.columns, share.part);
    const std::int32_t end = share.first_of(task.columns, share.part + 1);
    std::int32_t column = 0;
    for (std::int32_t s = 0; s < task.segments && column < end; ++s) {
      const DeviceSegment& segment = a.lists.segments[task.first_segment + s];
      const std::int32_t first = begin > column ? begin - column : 0;
      const std::int32_t last = end - column < segment.columns ? end - column : segment.columns;
      if (first < last) {
        sum = sum_of_segment(sum, a.lists, segment, rows, weights + column, query, first, last,
                             share.number);
      }
      column += segment.columns;
    }
  }
  sum = joined(share, sum, a.head_dim);
  if (share.there && share.part == 0) {
    Rows<T>(a.out, head).row(query)[share.number] = from_float<T>(a.scale * sum);
  }
}

/// Rows of a task that attend to a key, and the key's column in them.
struct SeeingRows {
  std::int32_t begin, end;
  std::int32_t column;  // in the row of token 0
  std::int32_t slope;   // per token: 0; -1 in a band that is not stored by key
};

__device__ SeeingRows seeing_rows(const ListsOnDevice& lists, const DeviceTask& task,
                                  const DeviceSegment& segment, std::int32_t column,
                                  std::int32_t key_of_run, std::int32_t key) {
  if (segment.kind == SegmentKind::whole) return {0, task.rows, column + key_of_run, 0};
  SeeingRows rows{};
  std::int32_t first = 0, last = 0;  // tokens
  if (segment.kind == SegmentKind::band) {
    first = key - segment.shift - segment.reach + 1;
    last = key - segment.shift + 1;
    rows.column = column + key - (segment.by_key != 0 ? segment.begin : segment.shift);
    rows.slope = segment.by_key != 0 ? 0 : -1;
  } else {
    const std::int32_t of_block = (key - segment.begin) % segment.columns;
    const std::int32_t block_end = key - of_block + segment.columns;
    first = key - of_block - segment.offset;
    last = (block_end < segment.end ? block_end : segment.end) - segment.offset;
    rows.column = column + of_block;
  }
  if (task.listed != 0) {
    const std::int32_t end = task.queries + task.rows;
    rows.begin = first_index(lists, task.queries, end, first) - task.queries;
    rows.end = first_index(lists, task.queries, end, last) - task.queries;
  } else {
    first -= task.queries;
    last -= task.queries;
    rows.begin = first > 0 ? first : 0;
    rows.end = last < task.rows ? last : task.rows;
  }
  return rows;
}

template <typename T>
__device__ float sum_of_view(float sum, const BandArguments& a, const DeviceKeyView& view,
                             const Share& share, std::int32_t head, std::int32_t key,
                             std::int32_t key_of_run) {
  const DeviceTask& task = a.lists.tasks[view.task];
  const SeeingRows seeing =
      seeing_rows(a.lists, task, a.lists.segments[view.segment], view.column, key_of_run, key);
  const std::int32_t terms = seeing.end - seeing.begin;
  if (terms <= 0) return sum;
  const std::int32_t begin = seeing.begin + share.first_of(terms, share.part);
  const std::int32_t end = seeing.begin + share.first_of(terms, share.part + 1);
  const Rows<const T> rows(a.x, head);
  const std::int64_t first_row = std::int64_t{head - task.first_head} * task.rows + begin;
  const float* row = a.scores + task.first_score + first_row * task.columns;
  if (task.listed != 0) {
    for (std::int32_t r = begin; r < end; ++r, row += task.columns) {
      const std::int32_t query = a.lists.indices[task.queries + r];
      sum = fmaf(row[seeing.column + seeing.slope * query], to_float(rows.row(query)[share.number]),
                 sum);
    }
    return sum;
  }
  const std::int32_t query = task.queries + begin;
  return sum_of_tokens(sum, row + (seeing.column + seeing.slope * query),
                       std::int64_t{task.columns} + seeing.slope, rows, query, task.queries + end,
                       share.number);
}

template <typename T>
__global__ __launch_bounds__(block_threads) void banded_key_sums_kernel(BandArguments a) {
  const BlockPlace place = place_of_block(a.lists.key_sums);
  const DeviceKeyRun& run = a.lists.runs[place.entry];
  Share share(a.head_dim, run.parts, run.sums);
  const std::int32_t blocks_of_head = (run.end - run.begin + run.sums - 1) / run.sums;
  const auto block = static_cast<std::int32_t>(place.block % blocks_of_head);
  const std::int32_t head =
      run.first_head + static_cast<std::int32_t>(place.block / blocks_of_head);
  const std::int32_t key_of_run = block * run.sums + share.sum;
  const std::int32_t key = run.begin + key_of_run;
  share.there = share.there && key < run.end;
  float sum = 0.0F;
  if (share.there) {
    for (std::int32_t v = run.first_view; v < run.first_view + run.views; ++v) {
      sum = sum_of_view<T>(sum, a, a.lists.views[v], share, head, key, key_of_run);
    }
  }
  sum = joined(share, sum, a.head_dim);
  if (share.there && share.part == 0) {
    Rows<T>(a.out, head).row(key)[share.number] = from_float<T>(a.scale * sum);
  }
}

}  // namespace

Status launch_row_sums(const BandArguments& arguments, std::int64_t blocks, cuda::Stream stream) {
  return launch_typed("banded row sums", banded_row_sums_kernel<float>,
                      banded_row_sums_kernel<__half>, banded_row_sums_kernel<__nv_bfloat16>,
                      shared_of_sums, arguments, blocks, stream);
}

Status launch_key_sums(const BandArguments& arguments, std::int64_t blocks, cuda::Stream stream) {
  return launch_typed("banded key sums", banded_key_sums_kernel<float>,
                      banded_key_sums_kernel<__half>, banded_key_sums_kernel<__nv_bfloat16>,
                      shared_of_sums, arguments, blocks, stream);
}

}  // namespace attnscope::longformer_banded
