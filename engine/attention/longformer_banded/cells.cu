// SPDX-License-Identifier: Apache-2.0
//
// One thread per cell of the band, one warp per row.

#include "engine/attention/longformer_banded/band.cuh"
#include "kernels/cuda/rows.cuh"

namespace attnscope::longformer_banded {
namespace {

__device__ FirstCell first_cell_of(const ListsOnDevice& lists) {
  const BlockPlace place = place_of_block(lists.cells);
  const DeviceTask& task = lists.tasks[place.entry];
  const std::int64_t cell = place.block * block_threads;
  const std::int64_t row = cell / task.columns;
  return {.score = task.first_score + cell,
          .task = place.entry,
          .head = static_cast<std::int32_t>(row / task.rows),
          .row = static_cast<std::int32_t>(row % task.rows),
          .column = static_cast<std::int32_t>(cell % task.columns)};
}

template <typename T, bool gradient>
__global__ __launch_bounds__(block_threads) void banded_cells_kernel(BandArguments a) {
  // Only one thread divides 64-bit numbers.
  auto* first = reinterpret_cast<FirstCell*>(cuda::dynamic_shared());
  if (threadIdx.x == 0) *first = first_cell_of(a.lists);
  __syncthreads();
  const DeviceTask& task = a.lists.tasks[first->task];
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  const std::int32_t along = first->column + thread;
  const std::int32_t down = first->row + along / task.columns;
  const std::int32_t head = first->head + down / task.rows;
  if (head >= task.heads) return;
  const std::int32_t row = down % task.rows;
  const std::int32_t query = query_of(a.lists, task, row);
  const std::int32_t key = key_of_column(a.lists, task, query, along % task.columns);
  float* score = a.scores + first->score + thread;
  if (key == no_key) {
    if constexpr (!gradient) *score = a.outside;
    return;
  }
  const Rows<const T> x(a.x, task.first_head + head), y(a.y, task.first_head + head);
  const float product =
      dot(x.row(query), y.row(key), a.head_dim, a.x.aligned != 0 && a.y.aligned != 0);
  if constexpr (gradient) {
    *score = a.row_dots == nullptr
                 ? product
                 : *score * (product -
                             a.row_dots[task.first_row + std::int64_t{head} * task.rows + row]);
  } else {
    *score = a.scale * product;
  }
}

/// The row of a warp.
struct WarpRow {
  std::int64_t number;  // among all rows
  std::int64_t score;
  std::int32_t columns, head, query;
  bool there;

  __device__ explicit WarpRow(const ListsOnDevice& lists) {
    const BlockPlace place = place_of_block(lists.rows);
    const DeviceTask& task = lists.tasks[place.entry];
    const std::int64_t row = place.block * rows_of_warps + threadIdx.x / 32;
    there = row < std::int64_t{task.rows} * task.heads;
    number = task.first_row + row;
    score = task.first_score + row * task.columns;
    columns = task.columns;
    head = task.first_head + static_cast<std::int32_t>(row / task.rows);
    query = there ? query_of(lists, task, static_cast<std::int32_t>(row % task.rows)) : 0;
  }
};

__device__ std::int32_t lane_of_thread() {
  return static_cast<std::int32_t>(threadIdx.x % 32);
}

/// The value subtracted from scores before the exponential: the largest score, or 0 without scores.
__device__ float base_of(float largest) {
  return largest == cuda::minus_infinity ? 0.0F : largest;
}

__global__ __launch_bounds__(block_threads) void banded_softmax_kernel(BandArguments a) {
  using cuda::exp2_approx;
  const WarpRow row(a.lists);
  if (!row.there) return;
  float* scores = a.scores + row.score;
  // Each lane's sum is rescaled for a larger score, so that scores are read only twice.
  float largest = cuda::minus_infinity, sum = 0.0F;
  for (std::int32_t c = lane_of_thread(); c < row.columns; c += 32) {
    const float score = scores[c], larger = fmaxf(largest, score);
    sum = sum * exp2_approx(largest - base_of(larger)) + exp2_approx(score - base_of(larger));
    largest = larger;
  }
  const float base = base_of(cuda::largest_of_lanes(largest));
  sum = cuda::sum_of_lanes(sum * exp2_approx(largest - base));
  const float inverse = cuda::inverse_of(sum);
  for (std::int32_t c = lane_of_thread(); c < row.columns; c += 32) {
    scores[c] = exp2_approx(scores[c] - base) * inverse;
  }
  if (a.lse != nullptr && lane_of_thread() == 0) {
    a.lse[std::int64_t{row.query} * a.heads + row.head] = cuda::log_sum_exp(base, sum);
  }
}

template <typename T>
__global__ __launch_bounds__(block_threads) void banded_row_dots_kernel(BandArguments a) {
  const WarpRow row(a.lists);
  if (!row.there) return;
  const T* x = Rows<const T>(a.x, row.head).row(row.query);
  const T* y = Rows<const T>(a.y, row.head).row(row.query);
  float sum = 0.0F;
  for (std::int32_t i = lane_of_thread(); i < a.head_dim; i += 32) {
    sum = fmaf(to_float(x[i]), to_float(y[i]), sum);
  }
  sum = cuda::sum_of_lanes(sum);
  if (lane_of_thread() == 0) a.row_dots[row.number] = sum;
}

}  // namespace

Status launch_cells(const BandArguments& arguments, std::int64_t blocks, cuda::Stream stream) {
  return launch_typed("banded cells", banded_cells_kernel<float, false>,
                      banded_cells_kernel<__half, false>, banded_cells_kernel<__nv_bfloat16, false>,
                      sizeof(FirstCell), arguments, blocks, stream);
}

Status launch_cell_gradients(const BandArguments& arguments, std::int64_t blocks,
                             cuda::Stream stream) {
  return launch_typed("banded cell gradients", banded_cells_kernel<float, true>,
                      banded_cells_kernel<__half, true>, banded_cells_kernel<__nv_bfloat16, true>,
                      sizeof(FirstCell), arguments, blocks, stream);
}

Status launch_softmax(const BandArguments& arguments, std::int64_t blocks, cuda::Stream stream) {
  return cuda::launch("banded softmax", banded_softmax_kernel, {blocks, block_threads, 0}, stream,
                      arguments);
}

Status launch_row_dots(const BandArguments& arguments, std::int64_t blocks, cuda::Stream stream) {
  return launch_typed("banded row dots", banded_row_dots_kernel<float>,
                      banded_row_dots_kernel<__half>, banded_row_dots_kernel<__nv_bfloat16>, 0,
                      arguments, blocks, stream);
}

}  // namespace attnscope::longformer_banded
