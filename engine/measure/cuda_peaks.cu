// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include "engine/measure/cuda_peaks.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/ptx.h"

namespace attnscope::measure {
namespace {

constexpr int threads = 256;
constexpr int blocks_on_each = 8;  // 2048 threads, the maximum of a multiprocessor
constexpr int chains = 16;         // independent results per thread, to hide latency

struct PeakArguments {
  std::int64_t repeats;
  float* sink;
};

/// Never stores anything, but the compiler cannot infer that.
__device__ void keep(float* sink, float value) {
  if (value == 12345.678F) *sink = value;
}

__global__ void __launch_bounds__(threads) multiply_add_peak(PeakArguments arguments) {
  float x[chains];
#pragma unroll
  for (int i = 0; i < chains; ++i) x[i] = static_cast<float>(threadIdx.x + i);
#pragma unroll 8
  for (std::int64_t r = 0; r < arguments.repeats; ++r) {
#pragma unroll
    for (int i = 0; i < chains; ++i) x[i] = fmaf(x[i], 0.999F, 0.001F);
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < chains; ++i) sum += x[i];
  keep(arguments.sink, sum);
}

__global__ void __launch_bounds__(threads) exponentials_peak(PeakArguments arguments) {
  float x[chains];
#pragma unroll
  for (int i = 0; i < chains; ++i) x[i] = -static_cast<float>(threadIdx.x + i) / 64.0F;
  for (std::int64_t r = 0; r < arguments.repeats; ++r) {
#pragma unroll
    for (int i = 0; i < chains; ++i) x[i] = cuda::exp2_approx(x[i]);
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < chains; ++i) sum += x[i];
  keep(arguments.sink, sum);
}

constexpr int tiles = 8;  // accumulators per warp, 4 registers each

__global__ void __launch_bounds__(threads) tensor_core_peak(PeakArguments arguments) {
  const std::uint32_t ones = 0x3F803F80U;  // two bfloat16 ones
  const std::uint32_t a[4] = {ones + threadIdx.x, ones, ones, ones};
  float c[tiles][4] = {};
  for (std::int64_t r = 0; r < arguments.repeats; ++r) {
#pragma unroll
    for (int i = 0; i < tiles; ++i) cuda::multiply_add<__nv_bfloat16>(c[i], a, ones, ones);
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < tiles; ++i) sum += c[i][0] + c[i][1] + c[i][2] + c[i][3];
  keep(arguments.sink, sum);
}

struct CopyArguments {
  const uint4* from;
  uint4* to;
  std::int64_t count;
  std::int64_t repeats;
};

/// A pass is one grid-wide sweep with 16 bytes per thread and step. Passes start at different
/// blocks, so that no multiprocessor finds its own last pass in its first-level cache.
__global__ void __launch_bounds__(threads) copy_peak(CopyArguments arguments) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t r = 0; r < arguments.repeats; ++r) {
    const std::int64_t block = (blockIdx.x + r) % gridDim.x;
    std::int64_t i = block * threads + threadIdx.x;
    for (; i + 3 * stride < arguments.count; i += 4 * stride) {
      uint4 values[4];
#pragma unroll
      for (int u = 0; u < 4; ++u) values[u] = __ldcg(arguments.from + i + u * stride);
#pragma unroll
      for (int u = 0; u < 4; ++u) __stcg(arguments.to + i + u * stride, values[u]);
    }
    for (; i < arguments.count; i += stride) __stcg(arguments.to + i, __ldcg(arguments.from + i));
  }
}

struct ReadArguments {
  const uint4* from;
  std::int64_t count;
  float* sink;
};

__global__ void __launch_bounds__(threads) read_whole_once(ReadArguments arguments) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * threads;
  std::uint32_t seen = 0;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
       i < arguments.count; i += stride) {
    const uint4 value = __ldcg(arguments.from + i);
    seen |= value.x | value.y | value.z | value.w;
  }
  keep(arguments.sink, __uint_as_float(seen));
}

Result<double> run(const char* name, void (*kernel)(PeakArguments), const PeakShape& shape,
                   float* sink, double done_by_a_warp_and_repeat, cuda::Stream stream) {
  const std::int64_t blocks = static_cast<std::int64_t>(shape.multiprocessors) * blocks_on_each;
  const Status queued = cuda::launch(name, kernel, {.blocks = blocks, .threads = threads}, stream,
                                     PeakArguments{shape.repeats, sink});
  if (!queued) return tl::unexpected(queued.error());
  return done_by_a_warp_and_repeat * static_cast<double>(shape.repeats) *
         static_cast<double>(blocks) * (threads / 32);
}

}  // namespace

Result<double> peak_multiply_add(const PeakShape& shape, float* sink, cuda::Stream stream) {
  return run("multiply_add_peak", &multiply_add_peak, shape, sink, 2.0 * chains * 32, stream);
}

Result<double> peak_tensor_cores(const PeakShape& shape, float* sink, cuda::Stream stream) {
  return run("tensor_core_peak", &tensor_core_peak, shape, sink, 2.0 * 16 * 8 * 16 * tiles, stream);
}

Result<double> peak_exponentials(const PeakShape& shape, float* sink, cuda::Stream stream) {
  return run("exponentials_peak", &exponentials_peak, shape, sink, 1.0 * chains * 32, stream);
}

Result<double> peak_copy(const PeakShape& shape, std::byte* set, std::int64_t bytes,
                         cuda::Stream stream) {
  const std::int64_t half = bytes / 2;
  const CopyArguments arguments{.from = reinterpret_cast<const uint4*>(set),
                                .to = reinterpret_cast<uint4*>(set + half),
                                .count = half / static_cast<std::int64_t>(sizeof(uint4)),
                                .repeats = shape.repeats};
  const std::int64_t blocks = static_cast<std::int64_t>(shape.multiprocessors) * blocks_on_each;
  const Status queued = cuda::launch("copy_peak", &copy_peak,
                                     {.blocks = blocks, .threads = threads}, stream, arguments);
  if (!queued) return tl::unexpected(queued.error());
  return 2.0 * static_cast<double>(half) * static_cast<double>(shape.repeats);
}

Result<double> read_whole(const PeakShape& shape, const std::byte* set, std::int64_t bytes,
                          float* sink, cuda::Stream stream) {
  const ReadArguments arguments{.from = reinterpret_cast<const uint4*>(set),
                                .count = bytes / static_cast<std::int64_t>(sizeof(uint4)),
                                .sink = sink};
  const std::int64_t blocks = static_cast<std::int64_t>(shape.multiprocessors) * blocks_on_each;
  const Status queued = cuda::launch("read_whole_once", &read_whole_once,
                                     {.blocks = blocks, .threads = threads}, stream, arguments);
  if (!queued) return tl::unexpected(queued.error());
  return static_cast<double>(bytes);
}

}  // namespace attnscope::measure
