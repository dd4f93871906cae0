// SPDX-License-Identifier: Apache-2.0
//
// What surrounds the kernels: lists and workspaces of calls by several host threads and of captured
// graphs, with a stand-in for LibTorch's allocator and stream; the limits of a device; the switch
// that waits for every launch.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/attention/cuda_runtime.h"
#include "engine/attention/plan_kernels.h"
#include "kernels/cuda/operands.h"
#include "kernels/cuda/segment.h"
#include "kernels/plan/windowed_layout.h"
#include "tests/cuda/device_subjects.h"
#include "tests/cuda_on_host/device_memory.h"
#include "tests/cuda_on_host/emulator.h"
#include "tests/kernels/cases.h"

namespace attnscope {
namespace {

using on_host::runtime;
using ::testing::HasSubstr;

/// The stand-in: blocks that are allocated, and what a copy to the device waits for.
std::map<std::byte*, std::int64_t> blocks;
std::function<void()> during_copy;
int copies = 0;

}  // namespace

namespace cuda {

LibTorchCuda libtorch_cuda() {
  return {.built = true, .devices = 1};
}
std::byte* allocate(std::int64_t bytes) {
  std::byte* made = on_host::allocate("block", bytes);
  blocks.emplace(made, bytes);
  return made;
}
void release(std::byte* data) noexcept {
  blocks.erase(data);
  on_host::release(data);
}
void copy_to_device(std::byte* to, std::span<const std::byte> from) {
  ++copies;
  if (during_copy) during_copy();
  std::memcpy(to, from.data(), from.size());
  on_host::set_by_host(to, std::ssize(from));
}
Stream current_stream() {
  return nullptr;
}
bool is_capturing() {
  return runtime().is_capturing;
}

}  // namespace cuda

namespace testing {
namespace {

using Content = DeviceTensor::Content;

/// A document whose [CLS] attends to the keys of several walks: their parts are in the workspace.
AttentionCase long_document() {
  return {.layout = layout_of({{.query = 5, .documents = {600}}}),
          .heads = 1,
          .order = Order::head_major,
          .dtype = DType::bfloat16};
}

/// Forward and backward of segment or windowed by the calls of plan_kernels.h.
struct Results {
  Outputs outputs;
  Gradients gradients;
};
Results segments(const SharedPlan& plan, const Inputs& in) {
  const float scale = scale_of(in.q.head_dim);
  const DeviceTensor q("q", in.q, Content::given), k("k", in.k, Content::given),
      v("v", in.v, Content::given), o("o", in.q, Content::unwritten);
  const DeviceMemory lse("lse", in.q.tokens * in.q.heads * 4);
  cuda::segment_forward(plan, {q.view(), k.view(), v.view(), o.tensor()}, scale, lse.floats());
  Outputs out{o.read_back(), lse.read_floats()};
  const BackwardCase backward{in, out, random_like(in.q, 7)};
  const DeviceGradients gradients(backward);
  cuda::segment_backward(plan, gradients.tensors(), scale);
  return {out, gradients.read_back()};
}
Results steps(const SharedPlan& plan, const Inputs& in) {
  const float scale = scale_of(in.q.head_dim);
  const DeviceTensor q("q", in.q, Content::given), k("k", in.k, Content::given),
      v("v", in.v, Content::given), o("o", in.q, Content::unwritten);
  const DeviceMemory weights("weights", windowed_score_elements(*plan) * 4);
  cuda::windowed_forward(plan, {q.view(), k.view(), v.view(), o.tensor()}, scale, weights.floats());
  Outputs out{o.read_back(), {}, weights.read_floats()};
  const BackwardCase backward{in, out, random_like(in.q, 7)};
  const DeviceGradients gradients(backward);
  cuda::windowed_backward(plan, gradients.tensors(), scale, weights.floats());
  return {out, gradients.read_back()};
}

SharedPlan shared(const AttentionPlan& plan) {
  return std::make_shared<const AttentionPlan>(plan);
}

/// Two host threads of which one runs at a time, and which take turns after every launch.
class TwoThreads {
 public:
  TwoThreads(const std::function<void()>& first, const std::function<void()>& second) {
    runtime().after_launch = [this](const char*) { pass_turn(); };
    std::array<std::thread, 2> threads{std::thread([&] { run(0, first); }),
                                       std::thread([&] { run(1, second); })};
    for (std::thread& thread : threads) thread.join();
    runtime().after_launch = {};
  }
  [[nodiscard]] int turns() const { return turns_; }

 private:
  void run(int thread, const std::function<void()>& body) {
    wait_for_turn(thread);
    body();
    const std::lock_guard lock(mutex_);
    has_ended_[static_cast<std::size_t>(thread)] = true;
    running_ = 1 - thread;
    changed_.notify_all();
  }
  void pass_turn() {
    int thread = 0;
    {
      const std::lock_guard lock(mutex_);
      thread = running_;
      if (has_ended_[static_cast<std::size_t>(1 - thread)]) return;
      ++turns_;
      running_ = 1 - thread;
      changed_.notify_all();
    }
    wait_for_turn(thread);
  }
  void wait_for_turn(int thread) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return running_ == thread; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int running_ = 0, turns_ = 0;
  std::array<bool, 2> has_ended_{};
};

TEST(CudaCalls, OfTwoHostThreadsOnOneStreamAndPlan_AreThoseOfEachAlone) {
  const AttentionCase problem = long_document();
  const SharedPlan plan = shared(problem.plan());
  ASSERT_GT(cuda::segment_work(*plan, 32, DType::bfloat16, Passes::forward)->workspace_bytes(), 0);
  for (const auto& function : {segments, steps}) {
    const std::array inputs{problem.inputs(1), problem.inputs(2)};
    std::vector<Results> alone;
    for (const Inputs& in : inputs) alone.push_back(function(plan, in));
    std::array<std::optional<Results>, 2> found;
    const TwoThreads threads([&] { found[0] = function(plan, inputs[0]); },
                             [&] { found[1] = function(plan, inputs[1]); });
    EXPECT_GE(threads.turns(), 8);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_TRUE(same_bits(found[i]->outputs, alone[i].outputs)) << i;
      EXPECT_TRUE(same_bits(found[i]->gradients, alone[i].gradients)) << i;
    }
  }
}

TEST(CudaCalls, AListIsCopiedOnceAndNotReadBefore) {
  using namespace std::chrono_literals;
  const std::vector<std::byte> values(300, std::byte{7});
  cuda::ListOnDevice list(values);
  std::future<const std::byte*> other;
  during_copy = [&] {
    other = std::async(std::launch::async, [&] { return list.data(); });
    EXPECT_EQ(other.wait_for(50ms), std::future_status::timeout);
  };
  copies = 0;
  const std::byte* data = list.data();
  during_copy = {};
  EXPECT_EQ(other.get(), data);
  EXPECT_EQ(copies, 1);
  EXPECT_EQ(data[299], std::byte{7});
}

TEST(CudaCalls, AListLivesAsLongAsItsPlan_OrTheProcessIfAGraphCapturedIt) {
  const AttentionCase problem{.layout = two_items(), .dtype = DType::float32};
  const Inputs in = problem.inputs();
  // The call releases its workspaces and the lists of expired plans, and leaves its own list.
  const auto blocks_after_another_plan = [&] {
    static_cast<void>(segments(shared(problem.plan()), in));
    return blocks.size();
  };
  for (const bool is_captured : {false, true}) {
    const std::size_t without = blocks_after_another_plan();
    SharedPlan plan = shared(problem.plan());
    const Results first = segments(plan, in);
    copies = 0;
    runtime().is_capturing = is_captured;
    EXPECT_TRUE(same_bits(segments(plan, in).outputs, first.outputs));
    runtime().is_capturing = false;
    EXPECT_EQ(copies, 0);
    EXPECT_EQ(blocks_after_another_plan(), without + 1);
    plan.reset();
    EXPECT_EQ(blocks_after_another_plan(), without + (is_captured ? 1 : 0));
  }
}

TEST(CudaCalls, TheFirstOfAPlanIsNotCaptured) {
  const AttentionCase problem{.layout = two_items(), .dtype = DType::float32};
  const SharedPlan plan = shared(problem.plan());
  const Inputs in = problem.inputs();
  runtime().is_capturing = true;
  for (const auto& function : {segments, steps}) {
    try {
      static_cast<void>(function(plan, in));
      ADD_FAILURE();
    } catch (const std::invalid_argument& error) {
      EXPECT_STREQ(error.what(),
                   "CUDA: the first call of a plan, which copies its work list, cannot be captured "
                   "into a graph; make one call before the capture");
    }
  }
  runtime().is_capturing = false;
  EXPECT_NO_THROW(static_cast<void>(segments(plan, in)));
}

TEST(CudaCalls, OneWorkListIsWalkedOnlyOverTensorsWhoseItemsHoldItsWindows) {
  const AttentionCase problem{
      .layout = layout_of({{.query = 3, .documents = {36}}, {.query = 3, .documents = {36}}}),
      .dtype = DType::bfloat16};
  const SharedPlan plan = shared(problem.plan());
  const auto work = cuda::segment_work(*plan, 32, problem.dtype, Passes::forward);
  std::vector<std::string> launched;
  runtime().after_launch = [&](const char* kernel) { launched.emplace_back(kernel); };
  for (const auto& [order, item_tokens, is_walked] :
       {std::tuple(Order::head_major_items, 40, true),
        std::tuple(Order::head_major_items, 20, false),
        std::tuple(Order::head_major_items, 40, true), std::tuple(Order::head_major, 0, true),
        std::tuple(Order::head_major_items, 20, false)}) {
    SCOPED_TRACE(item_tokens);
    launched.clear();
    const Inputs in = random_inputs(plan->tokens, 2, 32, order, item_tokens, 5, problem.dtype);
    const Result<Outputs> out = run_segment_forward(*work, in, {.alone = true});
    ASSERT_TRUE(out) << out.error().message;
    expect_near(out->o, reference(problem.keys(), in).o, 0.02, "o");
    EXPECT_EQ(launched.front() == "segment_forward (walks)", is_walked);
  }
  runtime().after_launch = {};
}

/// The message of one forward call of segment attention, or "none".
std::string message_of_a_call() {
  const AttentionCase problem{.layout = two_items(), .dtype = DType::float32};
  static const SharedPlan plan = shared(problem.plan());
  static const auto work =
      cuda::segment_work(*plan, problem.head_dim, problem.dtype, Passes::forward);
  const Result<Outputs> out = run_segment_forward(*work, problem.inputs(), {.alone = true});
  return out ? "none" : out.error().message;
}

TEST(CudaLaunches, AreWaitedForIfTheSwitchIsSet_ExceptInACapture) {
  const auto counted = [] {
    const int waits = runtime().synchronisations;
    const std::int64_t launches = on_host::totals().launches;
    EXPECT_EQ(message_of_a_call(), "none");
    return std::pair(runtime().synchronisations - waits, on_host::totals().launches - launches);
  };
  EXPECT_EQ(counted().first, 0);
  cuda::synchronises_launches() = true;
  const auto [waits, launches] = counted();
  EXPECT_GT(launches, 0);
  EXPECT_EQ(waits, launches);
  runtime().is_capturing = true;
  EXPECT_EQ(counted().first, 0);
  runtime().is_capturing = false;
  runtime().kernels_fail = true;
  const std::string failure = message_of_a_call();
  runtime().kernels_fail = false;
  cuda::synchronises_launches() = false;
  EXPECT_THAT(failure,
              ::testing::MatchesRegex("CUDA: segment_forward failed at .*launch.cu:[0-9]+: "
                                      "an illegal memory access was encountered "
                                      "\\(cudaErrorIllegalAddress\\)"));
}

TEST(CudaLaunches, AFailureThatMayComeFromAnEarlierKernelNamesTheSwitch) {
  const auto message = [](const char* name) {
    return cuda::failed_call("cudaMemcpyAsync", "a.cpp", 3, "text", name).error().message;
  };
  EXPECT_EQ(message("cudaErrorIllegalAddress"),
            "CUDA: cudaMemcpyAsync failed at a.cpp:3: text (cudaErrorIllegalAddress); a kernel "
            "queued earlier may be the cause: set ATTNSCOPE_CUDA_SYNC=1 to find the launch");
  EXPECT_EQ(message("cudaErrorInvalidValue"),
            "CUDA: cudaMemcpyAsync failed at a.cpp:3: text (cudaErrorInvalidValue)");
}

TEST(CudaLaunches, ThatTheCurrentDeviceCannotRunAreDeclinedWithItsName) {
  EXPECT_EQ(message_of_a_call(), "none");
  for (const auto& [device, needs] : std::vector<std::pair<on_host::Device, std::string>>{
           {{.name = "GPU A", .threads = 64}, "128 threads per block, and GPU A has at most 64"},
           {{.name = "GPU B", .shared_bytes = 2048},
            "2560 bytes of shared memory per block, and GPU B has at most 2048"},
           {{.name = "GPU C", .blocks = 2},
            "22 thread blocks, and GPU C has at most 2; use a smaller batch"}}) {
    runtime().device = static_cast<int>(runtime().devices.size());
    runtime().devices.push_back(device);
    EXPECT_EQ(message_of_a_call(), "CUDA: segment_forward needs " + needs);
    runtime().device = 0;
    EXPECT_EQ(message_of_a_call(), "none");
  }
}

TEST(CudaDevice, HasItsOwnNumberOfMultiprocessors) {
  EXPECT_EQ(cuda::multiprocessors(), 132);
  runtime().device = static_cast<int>(runtime().devices.size());
  runtime().devices.push_back({.name = "small", .processors = 46});
  EXPECT_EQ(cuda::multiprocessors(), 46);
  runtime().device = 0;
}

}  // namespace
}  // namespace testing
}  // namespace attnscope
