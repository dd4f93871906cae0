// SPDX-License-Identifier: Apache-2.0
//
// What segment_backward refuses, and in which words.
#include <gtest/gtest.h>

#include <limits>

#include "kernels/cpu/segment.h"
#include "tests/kernels/gradient_case.h"

namespace attnscope::testing {
namespace {

using ::testing::AssertionResult;

AssertionResult says(const Status& status, const std::string& words) {
  if (status) return ::testing::AssertionFailure() << "no error";
  if (status.error().message.find(words) == std::string::npos) {
    return ::testing::AssertionFailure() << status.error().message;
  }
  return ::testing::AssertionSuccess();
}

struct Call {
  AttentionCase problem{.layout =
                            *SequenceLayout::make({{.cls = 1, .query = 3, .documents = {20}}})};
  AttentionPlan plan = problem.plan();
  BackwardCase given = backward_case(plan, random_inputs(problem));
  Packed grad_q = given.in.q, grad_k = given.in.q, grad_v = given.in.q;
  GradientTensors tensors{.q = given.in.q.view(),
                          .k = given.in.k.view(),
                          .v = given.in.v.view(),
                          .o = given.forward.o.view(),
                          .lse = given.forward.lse,
                          .grad_o = given.grad_o.view(),
                          .grad_q = grad_q.tensor(),
                          .grad_k = grad_k.tensor(),
                          .grad_v = grad_v.tensor()};
  int threads = 2;
  std::vector<std::byte> workspace = std::vector<std::byte>(
      static_cast<std::size_t>(cpu::segment_backward_workspace_bytes(plan, 32, threads)));

  Call() = default;
  Call(const Call&) = delete;  // `tensors` points into the object
  Call& operator=(const Call&) = delete;

  [[nodiscard]] Status run() {
    return cpu::segment_backward(plan, tensors, scale_of(32), threads, workspace);
  }
};

/// Calls `body` with every tensor of a call and its name.
template <typename Body>
void for_each_tensor(GradientTensors& t, const Body& body) {
  body("q", t.q);
  body("k", t.k);
  body("v", t.v);
  body("o", t.o);
  body("grad_o", t.grad_o);
  body("grad_q", t.grad_q);
  body("grad_k", t.grad_k);
  body("grad_v", t.grad_v);
}

TEST(SegmentBackwardArguments, ThatAgreeAreTaken) {
  Call call;
  const Status done = call.run();
  EXPECT_TRUE(done) << done.error().message;
}

TEST(SegmentBackwardArguments, OfAnotherTypeShapeOrWithoutData_AreErrors) {
  Call call;
  for_each_tensor(call.tensors, [&](const std::string& name, auto& tensor) {
    const auto right = tensor;
    const bool is_first = name == "q";  // the others are held against it
    tensor.dtype = DType::float16;
    EXPECT_TRUE(says(call.run(), is_first ? "is of another type" : name + " is of another type"));
    tensor = right;
    tensor.head_dim = 16;
    EXPECT_TRUE(
        says(call.run(), is_first ? "has head dimension" : name + " has head dimension 16"));
    tensor = right;
    tensor.data = nullptr;
    EXPECT_TRUE(says(call.run(), name + " has no data"));
    tensor = right;
    EXPECT_TRUE(call.run()) << name;
  });
}

TEST(SegmentBackwardArguments, AWorkspaceOfOneByteLess_IsAnError) {
  Call call;
  call.workspace.pop_back();
  EXPECT_TRUE(says(call.run(), "segment_backward_workspace_bytes"));
  call.workspace.clear();
  EXPECT_TRUE(says(call.run(), "segment_backward_workspace_bytes"));
}

TEST(SegmentBackwardArguments, AWrongLogSumExp_IsAnError) {
  Call call;
  call.tensors.lse = call.tensors.lse.first(5);
  EXPECT_TRUE(says(call.run(), "lse has 5 floats"));
  call.tensors.lse = {};
  EXPECT_TRUE(says(call.run(), "lse has 0 floats"));
}

TEST(SegmentBackwardArguments, NoThread_IsAnError) {
  Call call;
  call.threads = 0;
  EXPECT_TRUE(says(call.run(), "at least 1 thread"));
}

TEST(SegmentBackwardArguments, HeadDimensionsBeyondTheKernels_AreErrors) {
  Call call;
  for_each_tensor(call.tensors, [](const std::string&, auto& tensor) { tensor.head_dim = 257; });
  EXPECT_TRUE(says(call.run(), "1 to 256, not 257"));
  for_each_tensor(call.tensors, [](const std::string&, auto& tensor) { tensor.head_dim = 0; });
  EXPECT_TRUE(says(call.run(), "1 to 256, not 0"));
}

TEST(SegmentBackwardArguments, MalformedWindows_AreErrors) {
  Call call;
  Segment& segment = call.plan.segments.front();
  segment.kind = SegmentKind::block;
  segment.window = 0;
  EXPECT_TRUE(says(call.run(), "at least 1"));
  segment.kind = SegmentKind::band;
  segment.window = -1;
  EXPECT_TRUE(says(call.run(), "at least 0"));
}

TEST(SegmentBackwardArguments, WindowsBeyondAllNumbers_MeanAll) {
  AttentionPlan plan{.tokens = 40, .heads = 1, .tasks = {}, .segments = {}, .indices = {}};
  plan.segments = {{.keys = {0, 40},
                    .kind = SegmentKind::band,
                    .window = std::numeric_limits<std::int64_t>::max()}};
  plan.tasks = {
      {.queries = {0, 40}, .heads = {0, 1}, .item = 0, .first_segment = 0, .segment_count = 1}};
  const Inputs in = random_inputs(40, 1, 32, Order::head_major, 0, 1);
  const KeysOf all = [](std::int64_t, std::int32_t) {
    std::vector<std::int64_t> keys;
    for (std::int64_t j = 0; j < 40; ++j) keys.push_back(j);
    return keys;
  };
  expect_gradients_right(plan, in, all, "the widest window");
}

TEST(SegmentBackwardOfAnEmptyPlan, IsDoneAtOnce) {
  const AttentionPlan plan;
  GradientTensors none;
  for_each_tensor(none, [](const std::string&, auto& tensor) { tensor.head_dim = 32; });
  std::vector<std::byte> workspace(
      static_cast<std::size_t>(cpu::segment_backward_workspace_bytes(plan, 32, 2)));
  EXPECT_TRUE(cpu::segment_backward(plan, none, 1.0f, 2, workspace));
}

TEST(SegmentBackwardOfStaleGradients, OverwritesThem) {
  Call call;
  ASSERT_TRUE(call.run());
  const Gradients first{call.grad_q, call.grad_k, call.grad_v};
  std::ranges::fill(call.workspace, std::byte{0x7f});
  ASSERT_TRUE(call.run());  // into the gradients of the call before
  EXPECT_TRUE(same_bits(first, {call.grad_q, call.grad_k, call.grad_v}));
}

}  // namespace
}  // namespace attnscope::testing
