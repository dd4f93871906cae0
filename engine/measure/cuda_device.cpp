// SPDX-License-Identifier: Apache-2.0
//
// The current CUDA device as a heat's device: LibTorch's caching allocator with its own statistics,
// events on its current stream, and its ceilings. Uses only API common to LibTorch 2.11 and 2.15.
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <c10/core/InferenceMode.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <exception>
#include <functional>
#include <stdexcept>

#include "engine/attention/cuda_call.h"
#include "engine/attention/cuda_runtime.h"
#include "engine/attention/torch_tensors.h"
#include "engine/measure/ceilings.h"
#include "engine/measure/conditions.h"
#include "engine/measure/cuda_peaks.h"
#include "engine/measure/heat_device.h"
#include "engine/measure/machine.h"

namespace attnscope::measure {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

constexpr std::size_t all_pools = 0;  // StatType::AGGREGATE

struct DriverMemory {
  std::int64_t free = 0, total = 0;
};

DriverMemory driver_memory() {
  std::size_t free = 0;
  std::size_t total = 0;
  ATTNSCOPE_CUDA_OR_THROW(cudaMemGetInfo(&free, &total));
  return {static_cast<std::int64_t>(free), static_cast<std::int64_t>(total)};
}

int attribute(cudaDeviceAttr which) {
  int value = 0;
  ATTNSCOPE_CUDA_OR_THROW(cudaDeviceGetAttribute(&value, which, c10::cuda::current_device()));
  return value;
}

double value_or_throw(const Result<double>& done) {
  if (!done) throw std::runtime_error(done.error().message);
  return *done;
}

class CudaMemory final : public HeatMemory {
 public:
  CudaMemory() {
    static_cast<void>(cuda::current_stream());  // initialises LibTorch's allocator
  }

  void* allocate(std::size_t bytes) override {
    if (bytes == 0) return nullptr;
    try {
      return cuda::allocate(static_cast<std::int64_t>(bytes));
    } catch (const c10::OutOfMemoryError&) {
      throw OutOfMemory(static_cast<std::int64_t>(bytes), free_bytes());
    }
  }

  void release(void* data) noexcept override {
    if (data != nullptr) cuda::release(static_cast<std::byte*>(data));
  }

  void empty_cache() noexcept override {
    // Fails only when the device, and with it the memory, is lost.
    try {
      allocator::emptyCache();
    } catch (const std::exception&) {
      return;
    }
  }

  /// Reads a buffer of twice the second-level cache's size, whose lines replace all others. Writing
  /// it instead would cause write-backs within the timed call.
  void flush_from_caches() override {
    if (!flushed_with_) {
      flush_bytes_ = 2 * static_cast<std::int64_t>(attribute(cudaDevAttrL2CacheSize));
      void* data = nullptr;
      // Not from the allocator, because its counters belong to the contenders.
      ATTNSCOPE_CUDA_OR_THROW(cudaMalloc(&data, static_cast<std::size_t>(flush_bytes_)));
      flushed_with_ = static_cast<std::byte*>(data);
      cuda::fill(flushed_with_, flush_bytes_, std::byte{0});
    }
    static_cast<void>(value_or_throw(
        read_whole({attribute(cudaDevAttrMultiProcessorCount), 1}, flushed_with_, flush_bytes_,
                   reinterpret_cast<float*>(flushed_with_), cuda::current_stream())));
  }

  void reset_peaks() override { allocator::resetPeakStats(c10::cuda::current_device()); }

  Counters counters() const override { return counters_of(statistics()); }

  void set_limit(std::optional<std::int64_t> bytes) override {
    limit_ = bytes;
    const auto total = static_cast<double>(driver_memory().total);
    const double share = bytes ? static_cast<double>(*bytes) / total : 1.0;
    allocator::setMemoryFraction(std::clamp(share, 0.0, 1.0), c10::cuda::current_device());
  }

  std::int64_t free_bytes() const override {
    const DriverMemory driver = driver_memory();
    return free_for_requests(statistics(), driver.free, driver.total, limit_);
  }

  std::optional<std::string> lost() override { return cuda::lost(); }

 private:
  static CudaAllocatorStatistics statistics() {
    const auto stats = allocator::getDeviceStats(c10::cuda::current_device());
    return {.requested = stats.requested_bytes[all_pools].current,
            .requested_peak = stats.requested_bytes[all_pools].peak,
            .reserved = stats.reserved_bytes[all_pools].current,
            .reserved_peak = stats.reserved_bytes[all_pools].peak,
            .reserved_ever = stats.reserved_bytes[all_pools].allocated,
            .active = stats.active_bytes[all_pools].current};
  }

  std::optional<std::int64_t> limit_;
  std::byte* flushed_with_ = nullptr;  // kept until the process ends
  std::int64_t flush_bytes_ = 0;
};

/// Two events on LibTorch's current stream; the time between them, minus that of an empty pair, is
/// the device's own time. The waiting thread sleeps, so its running time in a sample is the time
/// needed to queue the calls.
class EventStopwatch final : public Stopwatch {
 public:
  EventStopwatch() {
    ATTNSCOPE_CUDA_OR_THROW(cudaEventCreateWithFlags(&begin_, cudaEventBlockingSync));
    ATTNSCOPE_CUDA_OR_THROW(cudaEventCreateWithFlags(&end_, cudaEventBlockingSync));
    std::array<double, 33> empty{};
    for (double& ns : empty) {
      start();
      ns = between_ns();
    }
    std::ranges::nth_element(empty, empty.begin() + empty.size() / 2);
    empty_ns_ = empty[empty.size() / 2];
  }

  void start() override {
    ATTNSCOPE_CUDA_OR_THROW(cudaEventRecord(begin_, cuda::current_stream()));
  }

  double stop_ns() override { return without_empty_pair(between_ns(), empty_ns_); }

 private:
  double between_ns() {
    ATTNSCOPE_CUDA_OR_THROW(cudaEventRecord(end_, cuda::current_stream()));
    ATTNSCOPE_CUDA_OR_THROW(cudaEventSynchronize(end_));
    float milliseconds = 0;
    ATTNSCOPE_CUDA_OR_THROW(cudaEventElapsedTime(&milliseconds, begin_, end_));
    return static_cast<double>(milliseconds) * 1e6;
  }

  // Not destroyed: they are released when the process ends.
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
  double empty_ns_ = 0;  // 1000 to 2000, which is significant for a single call of 13 us
};

/// "0000:65:00.0", which identifies a device in the driver's library independently of
/// CUDA_VISIBLE_DEVICES.
std::string pci_bus_id() {
  std::array<char, 32> id{};
  ATTNSCOPE_CUDA_OR_THROW(
      cudaDeviceGetPCIBusId(id.data(), static_cast<int>(id.size()), c10::cuda::current_device()));
  return id.data();
}

NvmlConditions& device_conditions() {
  static NvmlConditions conditions("libnvidia-ml.so.1", pci_bus_id());
  return conditions;
}

/// A CUDA graph, whose allocations have a pool of their own that no other call uses.
class CapturedGraph final : public CapturedCall {
 public:
  explicit CapturedGraph(const std::function<void()>& call) {
    // Nothing can be captured on the default stream.
    const c10::cuda::CUDAStreamGuard on_stream(c10::cuda::getStreamFromPool());
    const cudaStream_t stream = on_stream.current_stream().stream();
    // The streams do not wait for each other.
    ATTNSCOPE_CUDA_OR_THROW(cudaDeviceSynchronize());
    call();  // lists, handles and workspaces that are made at the first call on a stream
    ATTNSCOPE_CUDA_OR_THROW(cudaStreamSynchronize(stream));
    allocator::beginAllocateToPool(device_, pool_,
                                   [stream](cudaStream_t other) { return other == stream; });
    cudaGraph_t graph = nullptr;
    std::string problem;
    std::exception_ptr out_of_memory;
    try {
      ATTNSCOPE_CUDA_OR_THROW(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
      call();
    } catch (const c10::OutOfMemoryError& error) {
      problem = error.what();
      out_of_memory = std::current_exception();
    } catch (const std::exception& error) {
      problem = error.what();
    }
    const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
    allocator::endAllocateToPool(device_, pool_);
    if (problem.empty() && ended == cudaSuccess) {
      const cudaError_t made = cudaGraphInstantiate(&graph_, graph, 0);
      if (made != cudaSuccess) problem = cudaGetErrorString(made);
    } else if (problem.empty()) {
      problem = cudaGetErrorString(ended);
    }
    if (graph != nullptr) cudaGraphDestroy(graph);
    cudaGetLastError();  // a failed capture is no error of a later call
    if (problem.empty()) return;
    allocator::releasePool(device_, pool_);
    if (out_of_memory) std::rethrow_exception(out_of_memory);
    throw NotSupported("its calls cannot be captured as a CUDA graph: " +
                       problem.substr(0, problem.find('\n')));
  }
  ~CapturedGraph() override {
    cudaGraphExecDestroy(graph_);
    allocator::releasePool(device_, pool_);
  }

  void replay() override {
    ATTNSCOPE_CUDA_OR_THROW(cudaGraphLaunch(graph_, cuda::current_stream()));
  }

 private:
  /// LibTorch numbers its own pools from 1.
  static c10::MempoolId_t new_pool() {
    static std::uint64_t pools = std::uint64_t{1} << 32U;
    return {0, ++pools};
  }

  c10::DeviceIndex device_ = c10::cuda::current_device();
  c10::MempoolId_t pool_ = new_pool();
  cudaGraphExec_t graph_ = nullptr;
};

class CudaDeviceOfHeat final : public HeatDevice {
 public:
  DeviceKind kind() const override { return DeviceKind::cuda; }
  HeatMemory& memory() override { return memory_; }
  Stopwatch& stopwatch() override { return stopwatch_; }
  ConditionsMeter& conditions() override { return device_conditions(); }
  std::unique_ptr<CapturedCall> capture(const std::function<void()>& call) override {
    return std::make_unique<CapturedGraph>(call);
  }

 private:
  CudaMemory memory_;
  EventStopwatch stopwatch_;
};

// A ceiling is the best observed rate, not the average: the best of several short trials.
constexpr int trials = 5;
constexpr double trial_ns = 10e6;
constexpr std::int64_t largest_set = 4096 * mib;  // far larger than the second-level cache

/// Queues this many repeats and returns their amount of work.
using Peak = std::function<double(std::int64_t repeats)>;

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

}  // namespace

HeatDevice& cuda_heat_device() {
  // Never destroyed: LibTorch's allocator may be destroyed first.
  static auto* const device = new CudaDeviceOfHeat;
  return *device;
}

nlohmann::json describe_cuda_device() {
  int driver = 0;
  int runtime = 0;
  ATTNSCOPE_CUDA_OR_THROW(cudaDriverGetVersion(&driver));
  ATTNSCOPE_CUDA_OR_THROW(cudaRuntimeGetVersion(&runtime));
  const std::string& refusal = device_conditions().refusal();
  const auto megahertz = [](cudaDeviceAttr which) { return attribute(which) / 1000; };
  return {{"multiprocessors", attribute(cudaDevAttrMultiProcessorCount)},
          {"l2_bytes", attribute(cudaDevAttrL2CacheSize)},
          {"shared_bytes_per_block", attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)},
          {"clock_mhz", megahertz(cudaDevAttrClockRate)},
          {"memory_clock_mhz", megahertz(cudaDevAttrMemoryClockRate)},
          {"memory_bus_bits", attribute(cudaDevAttrGlobalMemoryBusWidth)},
          {"ecc", attribute(cudaDevAttrEccEnabled) != 0},
          {"sensors", refusal.empty() ? "the driver's management library" : "none: " + refusal},
          {"driver", device_conditions().driver_version()},
          {"driver_cuda", driver},
          {"runtime_cuda", runtime}};
}

Ceilings measure_cuda_ceilings() {
  HeatDevice& device = cuda_heat_device();
  HeatMemory& memory = device.memory();
  Stopwatch& stopwatch = device.stopwatch();
  memory.empty_cache();
  const int processors = attribute(cudaDevAttrMultiProcessorCount);
  const cuda::Block sink_block(sizeof(float));
  auto* const sink = reinterpret_cast<float*>(sink_block.data());
  const auto rate_of = [&](auto peak) {
    return best_rate(stopwatch, [&, peak](std::int64_t repeats) {
      return value_or_throw(peak({processors, repeats}, sink, cuda::current_stream()));
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
      return value_or_throw(
          peak_copy({processors, repeats}, set.bytes().data(), bytes, cuda::current_stream()));
    });
    ceilings.copy.push_back({bytes, rate});
  }
  memory.empty_cache();
  return ceilings;
}

}  // namespace attnscope::measure
