// SPDX-License-Identifier: Apache-2.0
//
// Ceilings of the current CUDA device. Each is the best of several short trials between two events:
// a ceiling is the best observed rate, not the average.
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "engine/attention/cuda_call.h"
#include "engine/attention/cuda_runtime.h"
#include "engine/attention/torch_tensors.h"
#include "engine/measure/ceilings.h"
#include "engine/measure/cuda_peaks.h"
#include "engine/measure/heat_device.h"
#include "engine/measure/machine_memory.h"

namespace attnscope::measure {
namespace {

constexpr int trials = 5;
constexpr double trial_ns = 10e6;
constexpr std::int64_t largest_set = 4096 * mib;  // far larger than the second-level cache

/// Queues this many repeats and returns their amount of work.
using Peak = std::function<double(std::int64_t repeats)>;

double require(const Result<double>& done) {
  if (!done) throw std::runtime_error(done.error().message);
  return *done;
}

double timed_ns(Stopwatch& stopwatch, const Peak& peak, std::int64_t repeats, double& done) {
  stopwatch.start();
  done = peak(repeats);
  return stopwatch.stop_ns();
}

/// Amount per second: the number of repeats grows until they fill a trial, then the best trial
/// counts.
double best_rate(Stopwatch& stopwatch, const Peak& peak) {
  double done = 0;
  static_cast<void>(timed_ns(stopwatch, peak, 1, done));  // loads the kernel
  std::int64_t repeats = 1;
  while (timed_ns(stopwatch, peak, repeats, done) < trial_ns / 4 && repeats < (1LL << 40)) {
    repeats *= 4;
  }
  double best = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const double ns = timed_ns(stopwatch, peak, repeats, done);
    best = std::max(best, done / ns * 1e9);
  }
  return best;
}

/// LibTorch's product of large matrices: its instructions on Hopper are faster than mma.
double best_matrix_product(Stopwatch& stopwatch) {
  constexpr std::int64_t n = 8192;
  const c10::InferenceMode no_gradients;
  const auto options =
      at::TensorOptions().dtype(at::kBFloat16).device(torch_device(DeviceKind::cuda));
  const at::Tensor a = at::randn({n, n}, options);
  const at::Tensor b = at::randn({n, n}, options);
  at::Tensor c = at::empty({n, n}, options);
  return best_rate(stopwatch, [&](std::int64_t repeats) {
    for (std::int64_t r = 0; r < repeats; ++r) at::mm_out(c, a, b);
    return 2.0 * n * n * n * static_cast<double>(repeats);
  });
}

int multiprocessors() {
  int device = 0;
  int count = 0;
  ATTNSCOPE_CUDA_OR_THROW(cudaGetDevice(&device));
  ATTNSCOPE_CUDA_OR_THROW(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return count;
}

}  // namespace

Ceilings measure_cuda_ceilings() {
  HeatDevice& device = cuda_heat_device();
  HeatMemory& memory = device.memory();
  Stopwatch& stopwatch = device.stopwatch();
  memory.empty_cache();
  const int processors = multiprocessors();
  const cuda::Block sink_block(sizeof(float));
  auto* const sink = reinterpret_cast<float*>(sink_block.data());
  const auto rate_of = [&](auto peak) {
    return best_rate(stopwatch, [&, peak](std::int64_t repeats) {
      return require(peak({processors, repeats}, sink, cuda::current_stream()));
    });
  };
  Ceilings ceilings;
  ceilings.device = DeviceKind::cuda;
  ceilings.flop_per_second = rate_of(&peak_multiply_add);
  ceilings.exponentials_per_second = rate_of(&peak_exponentials);
  ceilings.tensor_flop_per_second = rate_of(&peak_tensor_cores);
  if (memory.free_bytes() > 2048 * mib) {
    ceilings.tensor_flop_per_second =
        std::max(ceilings.tensor_flop_per_second, best_matrix_product(stopwatch));
  }
  for (std::int64_t bytes = mib; bytes <= largest_set; bytes *= 4) {
    if (bytes > memory.free_bytes() / 2) break;
    const Buffer set(memory, bytes);
    cuda::fill(set.bytes().data(), bytes, std::byte{1});
    const double rate = best_rate(stopwatch, [&](std::int64_t repeats) {
      return require(
          peak_copy({processors, repeats}, set.bytes().data(), bytes, cuda::current_stream()));
    });
    ceilings.copy.push_back({bytes, rate});
  }
  memory.empty_cache();
  return ceilings;
}

}  // namespace attnscope::measure
