// SPDX-License-Identifier: Apache-2.0
//
// What the kernels decline or refuse, and in which words.
#include <gtest/gtest.h>

#include <limits>

#include "kernels/cpu/segment.h"
#include "kernels/cpu/windowed.h"
#include "tests/kernels/attention_case.h"

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

const AttentionCase small{.layout =
                              *SequenceLayout::make({{.cls = 1, .query = 3, .documents = {20}}})};

struct Call {
  AttentionPlan plan = small.plan();
  Inputs in = random_inputs(small);
  Packed o = in.q;
  std::vector<float> lse;
  int threads = 1;
  std::vector<std::byte> bytes =
      std::vector<std::byte>(static_cast<std::size_t>(cpu::segment_workspace_bytes(plan, 32, 1)));
  std::vector<float> scores =
      std::vector<float>(static_cast<std::size_t>(cpu::windowed_score_elements(plan)));

  [[nodiscard]] Status segment(const ConstTensor& k) {
    return cpu::segment_forward(plan, in.q.view(), k, in.v.view(), 1.0f, o.tensor(), lse, threads,
                                bytes);
  }
  [[nodiscard]] Status windowed(const ConstTensor& k) {
    return cpu::windowed_forward(plan, in.q.view(), k, in.v.view(), 1.0f, o.tensor(), lse, threads,
                                 scores);
  }
};

TEST(Supports, DeclinesOtherHeadDimensions) {
  const AttentionPlan plan = small.plan();
  for (const auto supports : {cpu::segment_supports, cpu::windowed_supports}) {
    EXPECT_TRUE(supports(plan, 1));
    EXPECT_TRUE(supports(plan, 256));
    EXPECT_TRUE(says(supports(plan, 0), "1 to 256, not 0"));
    EXPECT_TRUE(says(supports(plan, 257), "1 to 256, not 257"));
  }
}

TEST(Supports, DeclinesMalformedWindows) {
  AttentionPlan plan{.tokens = 4, .heads = 1, .tasks = {}, .segments = {}, .indices = {}};
  plan.segments = {{.keys = {0, 4}, .kind = SegmentKind::block, .window = 0}};
  plan.tasks = {
      {.queries = {0, 4}, .heads = {0, 1}, .item = 0, .first_segment = 0, .segment_count = 1}};
  for (const auto supports : {cpu::segment_supports, cpu::windowed_supports}) {
    plan.segments[0].kind = SegmentKind::block;
    plan.segments[0].window = 0;
    EXPECT_TRUE(says(supports(plan, 32), "at least 1"));
    plan.segments[0].kind = SegmentKind::band;
    plan.segments[0].window = -1;
    EXPECT_TRUE(says(supports(plan, 32), "at least 0"));
  }
}

TEST(Supports, WindowedDeclinesMatricesBeyondMemory) {
  AttentionPlan plan{.tokens = 4, .heads = 1, .tasks = {}, .segments = {}, .indices = {}};
  plan.segments = {{.keys = {0, 4},
                    .kind = SegmentKind::band,
                    .window = std::numeric_limits<std::int64_t>::max()}};
  plan.tasks = {
      {.queries = {0, 4}, .heads = {0, 1}, .item = 0, .first_segment = 0, .segment_count = 1}};
  EXPECT_TRUE(cpu::segment_supports(plan, 32));
  EXPECT_TRUE(says(cpu::windowed_supports(plan, 32), "larger than memory"));
  // The fused kernel takes the same window as "all".
  const Inputs in = random_inputs(4, 1, 32, Order::head_major, 0, 1);
  const Outputs out = run(Kernel::segment, plan, in);
  EXPECT_EQ(out.o.at(0, 0, 0), out.o.at(0, 0, 0));
}

TEST(Arguments, TooSmallAWorkspaceIsAnError) {
  Call call;
  call.bytes.pop_back();
  call.scores.pop_back();
  EXPECT_TRUE(says(call.segment(call.in.k.view()), "workspace"));
  EXPECT_TRUE(says(call.windowed(call.in.k.view()), "workspace"));
}

TEST(Arguments, TensorsThatDisagreeAreErrors) {
  Call call;
  ConstTensor k = call.in.k.view();
  k.head_dim = 16;
  EXPECT_TRUE(says(call.segment(k), "k has head dimension 16"));
  EXPECT_TRUE(says(call.windowed(k), "k has head dimension 16"));
  k = call.in.k.view();
  k.dtype = DType::float16;
  EXPECT_TRUE(says(call.segment(k), "k is of another type"));
  EXPECT_TRUE(says(call.windowed(k), "k is of another type"));
  k = call.in.k.view();
  k.data = nullptr;
  EXPECT_TRUE(says(call.segment(k), "k has no data"));
  EXPECT_TRUE(says(call.windowed(k), "k has no data"));
}

TEST(Arguments, WrongLseAndThreadsAreErrors) {
  Call call;
  call.lse.resize(5);
  EXPECT_TRUE(says(call.segment(call.in.k.view()), "lse has 5"));
  EXPECT_TRUE(says(call.windowed(call.in.k.view()), "lse has 5"));
  call.lse.clear();
  call.threads = 0;
  EXPECT_TRUE(says(call.segment(call.in.k.view()), "at least 1 thread"));
  EXPECT_TRUE(says(call.windowed(call.in.k.view()), "at least 1 thread"));
}

TEST(Arguments, OfTheProductsAreChecked) {
  const std::vector<TokenRange> sequences{{0, 24}};
  Call call;
  cpu::BandProblem problem{sequences, 2, 32, 4};
  std::vector<float> band(static_cast<std::size_t>(cpu::band_elements(problem) - 1));
  const ConstTensor q = call.in.q.view();
  EXPECT_TRUE(says(cpu::windowed_qk(problem, q, q, 1.0f, 1, band), "band_elements"));
  EXPECT_TRUE(says(cpu::windowed_pv(problem, band, q, 1, call.o.tensor()), "band_elements"));
  band.resize(band.size() + 1);
  EXPECT_TRUE(says(cpu::windowed_qk(problem, q, q, 1.0f, 0, band), "thread"));
  problem.window = -1;
  EXPECT_TRUE(says(cpu::windowed_qk(problem, q, q, 1.0f, 1, band), "at least 0"));
  problem.window = 4;
  problem.heads = 0;
  EXPECT_TRUE(says(cpu::windowed_qk(problem, q, q, 1.0f, 1, band), "at least 1"));
}

TEST(Workspace, WindowedIsExactlyTheScores) {
  // [CLS] 24 keys; 3 query rows of 3; 20 document rows of 4 + 9; for each of 2 heads.
  EXPECT_EQ(cpu::windowed_score_elements(small.plan()), 2 * (24 + 3 * 3 + 20 * (4 + 9)));
}

TEST(LogSumExp, MayBeLeftOut) {
  Call call;
  const Outputs with_lse = run(Kernel::segment, call.plan, call.in);
  // The scale of run() is the only difference to call.segment.
  ASSERT_TRUE(cpu::segment_forward(call.plan, call.in.q.view(), call.in.k.view(), call.in.v.view(),
                                   scale_of(32), call.o.tensor(), {}, 1, call.bytes));
  for (std::int64_t t = 0; t < call.plan.tokens; ++t) {
    ASSERT_EQ(call.o.at(t, 1, 7), with_lse.o.at(t, 1, 7));
  }
}

TEST(EmptyPlan, IsDoneAtOnce) {
  const AttentionPlan plan;
  const ConstTensor none{.head_dim = 32};
  const Tensor nowhere{.head_dim = 32};
  std::vector<std::byte> bytes(static_cast<std::size_t>(cpu::segment_workspace_bytes(plan, 32, 2)));
  EXPECT_TRUE(cpu::segment_forward(plan, none, none, none, 1.0f, nowhere, {}, 2, bytes));
  EXPECT_TRUE(cpu::windowed_forward(plan, none, none, none, 1.0f, nowhere, {}, 2, {}));
}

}  // namespace
}  // namespace attnscope::testing
