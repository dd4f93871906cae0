// SPDX-License-Identifier: Apache-2.0
//
// What the kernels refuse or do not support, and their messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "kernels/cpu/segment.h"
#include "kernels/cpu/windowed.h"
#include "tests/kernels/every_set.h"
#include "tests/kernels/plans.h"
#include "tests/kernels/subject.h"

namespace attnscope::testing {
namespace {

using ::testing::HasSubstr;

AttentionCase small_case() {
  return {.layout = layout_of({{.query = 3, .documents = {20}}})};
}

/// The arguments of all four calls, initially valid.
struct Arguments {
  AttentionPlan plan = small_case().plan();
  Inputs in = small_case().inputs();
  Packed o = in.q, grad_o = in.q, grad_q = in.q, grad_k = in.q, grad_v = in.q;
  std::vector<float> lse;
  GradientTensors tensors{.q = in.q.view(),
                          .k = in.k.view(),
                          .v = in.v.view(),
                          .o = o.view(),
                          .lse = {},
                          .grad_o = grad_o.view(),
                          .grad_q = grad_q.tensor(),
                          .grad_k = grad_k.tensor(),
                          .grad_v = grad_v.tensor()};
  Tensor out = o.tensor();
  int threads = 2;
  std::vector<float> weights, workspace;

  explicit Arguments(std::int64_t workspace_floats)
      : lse(static_cast<std::size_t>(plan.tokens * plan.heads)),
        weights(static_cast<std::size_t>(cpu::windowed_score_elements(plan))),
        workspace(static_cast<std::size_t>(workspace_floats)) {
    tensors.lse = lse;
  }
  Arguments(const Arguments&) = delete;  // `tensors` points into the object
  Arguments& operator=(const Arguments&) = delete;
};

/// One of the four calls.
struct Operation {
  std::string name;
  bool forward;
  bool reads_o_and_lse;
  std::string workspace;  // the function that returns its size
  std::int64_t (*floats)(const AttentionPlan& plan);
  Status (*run)(Arguments& a);

  friend std::ostream& operator<<(std::ostream& out, const Operation& operation) {
    return out << operation.name;
  }
};

const std::vector<Operation> operations{
    {"segment_forward", true, false, "workspace",
     [](const AttentionPlan& plan) { return cpu::segment_workspace_bytes(plan, 32, 2) / 4; },
     [](Arguments& a) {
       return cpu::segment_forward(a.plan, a.tensors.q, a.tensors.k, a.tensors.v, 1.0f, a.out,
                                   a.lse, a.threads,
                                   std::as_writable_bytes(std::span(a.workspace)));
     }},
    {"windowed_forward", true, false, "windowed_score_elements",
     [](const AttentionPlan& plan) { return cpu::windowed_score_elements(plan); },
     [](Arguments& a) {
       return cpu::windowed_forward(a.plan, a.tensors.q, a.tensors.k, a.tensors.v, 1.0f, a.out,
                                    a.lse, a.threads, a.workspace);
     }},
    {"segment_backward", false, true, "segment_backward_workspace_bytes",
     [](const AttentionPlan& plan) {
       return cpu::segment_backward_workspace_bytes(plan, 32, 2) / 4;
     },
     [](Arguments& a) {
       return cpu::segment_backward(a.plan, a.tensors, 1.0f, a.threads,
                                    std::as_writable_bytes(std::span(a.workspace)));
     }},
    {"windowed_backward", false, false, "windowed_backward_elements",
     [](const AttentionPlan& plan) { return cpu::windowed_backward_elements(plan, 32); },
     [](Arguments& a) {
       return cpu::windowed_backward(a.plan, a.tensors, 1.0f, a.weights, a.threads, a.workspace);
     }}};

class ArgumentsOf : public ::testing::TestWithParam<Operation> {
 protected:
  [[nodiscard]] std::string error() { return error_of(GetParam().run(arguments)); }

  /// Calls `body` with the name of every tensor that the call reads or writes, and the tensor.
  template <typename Body>
  void for_each_tensor(const Body& body) {
    GradientTensors& t = arguments.tensors;
    body("q", t.q);
    body("k", t.k);
    body("v", t.v);
    if (GetParam().forward) return body("o", arguments.out);
    if (GetParam().reads_o_and_lse) body("o", t.o);
    body("grad_o", t.grad_o);
    body("grad_q", t.grad_q);
    body("grad_k", t.grad_k);
    body("grad_v", t.grad_v);
  }

  Arguments arguments{GetParam().floats(small_case().plan())};
};
INSTANTIATE_TEST_SUITE_P(Kernels, ArgumentsOf, ::testing::ValuesIn(operations),
                         [](const auto& parameter) { return parameter.param.name; });

TEST_P(ArgumentsOf, AreAcceptedIfTheyAgree) {
  EXPECT_EQ(error(), "none");
}

TEST_P(ArgumentsOf, OfAnotherTypeOrShapeOrWithoutData_AreErrors) {
  for_each_tensor([&](const std::string& name, auto& tensor) {
    const auto right = tensor;
    const std::string named = name == "q" ? "" : name + " ";  // the others are compared with q
    tensor.dtype = DType::float16;
    EXPECT_THAT(error(), HasSubstr(named + "has another dtype"));
    tensor = right;
    tensor.head_dim = 16;
    EXPECT_THAT(error(), HasSubstr(named + "has head dimension"));
    tensor = right;
    tensor.data = nullptr;
    EXPECT_THAT(error(), HasSubstr(name + " has no data"));
    tensor = right;
    EXPECT_EQ(error(), "none") << name;
  });
}

TEST_P(ArgumentsOf, WithAWorkspaceTooSmall_AreErrors) {
  arguments.workspace.pop_back();
  EXPECT_THAT(error(), HasSubstr(GetParam().workspace));
  arguments.workspace.clear();
  EXPECT_THAT(error(), HasSubstr(GetParam().workspace));
}

TEST_P(ArgumentsOf, WithAWrongLogSumExpOrWeights_AreErrors) {
  arguments.lse.resize(5);
  arguments.tensors.lse = arguments.lse;
  if (GetParam().forward || GetParam().reads_o_and_lse) {
    EXPECT_THAT(error(), HasSubstr("lse has 5"));
    arguments.lse.clear();
    arguments.tensors.lse = {};
    EXPECT_THAT(error(), HasSubstr(GetParam().forward ? "none" : "lse has 0 floats"));
  } else {
    arguments.weights.pop_back();
    EXPECT_THAT(error(), HasSubstr("weights"));
  }
}

TEST_P(ArgumentsOf, WithoutAThread_AreErrors) {
  arguments.threads = 0;
  EXPECT_THAT(error(), HasSubstr("at least 1 thread"));
}

TEST_P(ArgumentsOf, OfHeadDimensionsBeyondTheKernels_AreErrors) {
  for_each_tensor([](const std::string&, auto& tensor) { tensor.head_dim = 257; });
  EXPECT_THAT(error(), HasSubstr("1 to 256, not 257"));
  for_each_tensor([](const std::string&, auto& tensor) { tensor.head_dim = 0; });
  EXPECT_THAT(error(), HasSubstr("1 to 256, not 0"));
}

TEST_P(ArgumentsOf, WithMalformedWindows_AreErrors) {
  Segment& segment = arguments.plan.segments.front();
  segment.kind = SegmentKind::block;
  segment.window = 0;
  EXPECT_THAT(error(), HasSubstr("at least 1"));
  segment.kind = SegmentKind::band;
  segment.window = -1;
  EXPECT_THAT(error(), HasSubstr("at least 0"));
}

TEST_P(ArgumentsOf, OfAnEmptyPlan_AreAccepted) {
  arguments.plan = {};
  arguments.lse.clear();
  arguments.tensors.lse = {};
  arguments.weights.clear();
  arguments.workspace.resize(static_cast<std::size_t>(GetParam().floats(arguments.plan)));
  for_each_tensor([](const std::string&, auto& tensor) { tensor.data = nullptr; });
  EXPECT_EQ(error(), "none");
}

TEST(Supports, HeadDimensionsUpTo256) {
  const AttentionPlan plan = small_case().plan();
  for (const Subject& subject : subjects()) {
    EXPECT_TRUE(subject.supports(plan, 1));
    EXPECT_TRUE(subject.supports(plan, 256));
    EXPECT_THAT(error_of(subject.supports(plan, 0)), HasSubstr("1 to 256, not 0"));
    EXPECT_THAT(error_of(subject.supports(plan, 257)), HasSubstr("1 to 256, not 257"));
  }
}

TEST(Supports, TheWidestWindowAsAllKeys) {
  const AttentionPlan plan =
      plan_of_one_task(40, 1,
                       {{.keys = {0, 40},
                         .kind = SegmentKind::band,
                         .window = std::numeric_limits<std::int64_t>::max()}});
  const KeysOf all = [](std::int64_t, std::int32_t) {
    std::vector<std::int64_t> keys(40);
    for (std::size_t j = 0; j < keys.size(); ++j) keys[j] = static_cast<std::int64_t>(j);
    return keys;
  };
  for (const Subject& subject : subjects()) {
    expect_right(subject, plan, random_inputs(40, 1, 32, Order::head_major, 0, 1), all,
                 "the widest window");
  }
}

TEST(Supports, NoMatricesBeyondMemory) {
  constexpr std::int64_t tokens = std::int64_t{1} << 40;
  const AttentionPlan plan = plan_of_one_task(
      tokens, 1, {{.keys = {0, tokens}, .kind = SegmentKind::band, .window = tokens / 4}});
  EXPECT_THAT(error_of(cpu::windowed_supports(plan, 32)), HasSubstr("larger than any memory"));
}

TEST(Workspace, OfWindowedKernelsHoldsExactlyTheScores) {
  // [CLS] 24 keys; 3 query rows of 3; 20 document rows of 4 + 9; for each of 2 heads.
  EXPECT_EQ(cpu::windowed_score_elements(small_case().plan()), 2 * (24 + 3 * 3 + 20 * (4 + 9)));
  // A row has at most one column per key.
  for (const auto& [window, columns] : {std::pair{31, 63}, {32, 64}, {64, 64}}) {
    EXPECT_EQ(cpu::windowed_score_elements(plan_of_one_task(
                  64, 3, {{.keys = {0, 64}, .kind = SegmentKind::band, .window = window}})),
              3 * 64 * columns);
  }
}

TEST(Products, OfTensorsOfOtherSizesAreErrors) {
  const std::vector<TokenRange> sequences{{0, 24}};
  cpu::BandProblem problem{sequences, 2, 32, 4};
  Arguments a(0);
  const auto elements = static_cast<std::size_t>(cpu::band_elements(problem));
  EXPECT_EQ(elements, 2U * 24 * 9);
  std::vector<float> band(elements), grad_band(elements);
  const ConstTensor q = a.tensors.q;
  std::size_t floats = elements;
  int threads = 1;
  /// The message of each of the four calls.
  const auto errors = [&] {
    const std::span<float> given = std::span(band).first(floats);
    const std::span<float> taken = std::span(grad_band).first(floats);
    return std::vector<std::string>{
        error_of(cpu::windowed_qk(problem, q, q, 1.0f, threads, given)),
        error_of(cpu::windowed_pv(problem, given, q, threads, a.out)),
        error_of(cpu::windowed_qk_backward(problem, given, q, q, 1.0f, threads, a.out,
                                           a.tensors.grad_k)),
        error_of(
            cpu::windowed_pv_backward(problem, given, q, q, threads, taken, a.tensors.grad_v))};
  };
  using ::testing::Each;
  EXPECT_THAT(errors(), Each("none"));
  --floats;
  EXPECT_THAT(errors(), Each(HasSubstr("band_elements")));
  ++floats;
  threads = 0;
  EXPECT_THAT(errors(), Each(HasSubstr("thread")));
  threads = 1;
  problem.window = -1;
  EXPECT_THAT(errors(), Each(HasSubstr("at least 0")));
  problem.window = 4;
  problem.heads = 0;
  EXPECT_THAT(errors(), Each(HasSubstr("at least 1")));
  problem.heads = 2;
  a.tensors.grad_k.head_dim = a.tensors.grad_v.head_dim = 16;
  EXPECT_THAT(errors()[2], HasSubstr("grad_k has head dimension 16"));
  EXPECT_THAT(errors()[3], HasSubstr("grad_v has head dimension 16"));
}

}  // namespace
}  // namespace attnscope::testing
