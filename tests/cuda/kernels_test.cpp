// SPDX-License-Identifier: Apache-2.0
//
// The CUDA kernels on a GPU against the float64 reference, on shapes small enough for
// compute-sanitizer, without LibTorch. Where there is no GPU the tests are skipped; under the
// emulation the same tests run on the host.

#include <gtest/gtest.h>

#include "kernels/cuda/segment.h"
#include "kernels/cuda/windowed.h"
#include "tests/cuda/on_device.h"
#include "tests/kernels/attention_case.h"
#include "tests/kernels/gradient_case.h"

namespace attnscope::cuda {
namespace {

using namespace attnscope::testing;

void run_segment(const AttentionPlan& plan, OnDevice& device) {
  const Result<SegmentWork> work =
      segment_work(plan, device.shape.head_dim, device.shape.dtype, Passes::forward_backward);
  ASSERT_TRUE(work) << work.error().message;
  const DeviceMemory list(work->list());
  DeviceMemory workspace(work->workspace_bytes());
  workspace.clear(work->counter_bytes());
  const SegmentMemory memory = {list.data(), workspace.data()};
  const float scale = scale_of(device.shape.head_dim);
  const Status forward =
      segment_forward(*work, memory, device.in(device.q), device.in(device.k), device.in(device.v),
                      scale, device.out(device.o), device.logarithms(), nullptr);
  ASSERT_TRUE(forward) << forward.error().message;
  const Status backward = segment_backward(*work, memory, device.gradients(), scale, nullptr);
  ASSERT_TRUE(backward) << backward.error().message;
}

void run_windowed(const AttentionPlan& plan, OnDevice& device) {
  const Result<WindowedWork> work =
      windowed_work(plan, device.shape.head_dim, device.shape.dtype, Passes::forward_backward);
  ASSERT_TRUE(work) << work.error().message;
  const DeviceMemory list(work->list());
  const DeviceMemory workspace(work->workspace_bytes());
  const DeviceMemory scores(work->score_elements() * std::int64_t{sizeof(float)});
  const DeviceMemory grad_scores(windowed_backward_elements(plan) * std::int64_t{sizeof(float)});
  const WindowedMemory memory = {list.data(), workspace.data()};
  const float scale = scale_of(device.shape.head_dim);
  const auto floats = [](const DeviceMemory& of) { return reinterpret_cast<float*>(of.data()); };
  const Status forward =
      windowed_forward(*work, memory, device.in(device.q), device.in(device.k), device.in(device.v),
                       scale, device.out(device.o), device.logarithms(), floats(scores), nullptr);
  ASSERT_TRUE(forward) << forward.error().message;
  const Status backward = windowed_backward(*work, memory, device.gradients(), scale,
                                            floats(scores), floats(grad_scores), nullptr);
  ASSERT_TRUE(backward) << backward.error().message;
}

/// Items with and without a query, one of [CLS] alone, lengths about the tiles'.
SequenceLayout small_layout() {
  return layout_of(
      {{.cls = 1, .query = 5, .documents = {83}, .sentences = {0, 20, 70}, .sentences_given = true},
       {.cls = 1, .query = 0, .documents = {17}, .sentences = {0}, .sentences_given = true},
       {.cls = 1, .query = 3, .documents = {}, .sentences = {}, .sentences_given = true}});
}

class CudaKernels : public ::testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    if (const auto reason = no_device()) GTEST_SKIP() << "not run: " << *reason;
  }

  static void expect_all_right(Kernels run) {
    AttentionCase problem;
    problem.layout = small_layout();
    problem.dtype = GetParam();
    for (const char* pattern : attnscope::testing::built_in_patterns) {
      for (const int window : {0, 4, 64}) {
        problem.pattern = pattern;
        problem.window = Window::of(window);
        expect_right_on_device(problem, run);
      }
    }
    problem.pattern = "sparse";
    problem.window = Window::of(4);
    for (const std::int64_t head_dim : {8, 13, 64, 96, 256}) {
      problem.head_dim = head_dim;
      problem.order = problem.order == Order::head_major ? Order::token_major : Order::head_major;
      expect_right_on_device(problem, run);
    }
  }
};

TEST_P(CudaKernels, SegmentIsRightOnEveryPatternForwardAndBackward) {
  expect_all_right(run_segment);
}

TEST_P(CudaKernels, WindowedIsRightOnEveryPatternForwardAndBackward) {
  expect_all_right(run_windowed);
}

TEST_P(CudaKernels, RepeatingACallGivesTheSameBits) {
  AttentionCase problem;
  problem.layout = small_layout();
  problem.dtype = GetParam();
  const AttentionPlan plan = problem.plan();
  const Inputs inputs = random_inputs(problem);
  const Packed grad_o = random_like(inputs.q, 7);
  for (const Kernels run : {run_segment, run_windowed}) {
    OnDevice first(inputs, grad_o);
    OnDevice second(inputs, grad_o);
    run(plan, first);
    run(plan, second);
    EXPECT_EQ(first.o.read(), second.o.read());
    EXPECT_EQ(first.grad_q.read(), second.grad_q.read());
    EXPECT_EQ(first.grad_k.read(), second.grad_k.read());
    EXPECT_EQ(first.grad_v.read(), second.grad_v.read());
  }
}

INSTANTIATE_TEST_SUITE_P(EveryDType, CudaKernels,
                         ::testing::Values(DType::float32, DType::float16, DType::bfloat16),
                         name_of_parameter);

}  // namespace
}  // namespace attnscope::cuda
