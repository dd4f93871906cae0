// SPDX-License-Identifier: Apache-2.0
//
// What the list promises beside right numbers: reasons for refusals, predictions, workspaces.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>

#include "engine/attention/cuda_runtime.h"
#include "engine/attention/list.h"
#include "kernels/cpu/windowed.h"
#include "tests/attention/small_problem.h"

namespace attnscope {
namespace {

using ::testing::HasSubstr;
using tests::item;
using tests::SmallProblem;
using tests::usual;

std::string refusal(const char* id, const Problem& problem) {
  const Status ok = find_implementation(id)->supports(problem);
  const auto prepared = find_implementation(id)->prepare(problem);
  EXPECT_EQ(prepared.has_value(), ok.has_value()) << id;
  return ok ? "" : ok.error().message;
}

bool runs_on_cuda_alone(std::string_view id) {
  return id == "sdpa-efficient" || id == "sdpa-cudnn" || id == "flash-window";
}

bool needs_a_window(std::string_view id) {
  return id == "longformer-chunks";
}

TEST(ImplementationList, HoldsEachIdOnceWithASummary) {
  std::set<std::string_view> ids;
  for (const Implementation* implementation : implementations()) {
    EXPECT_TRUE(ids.insert(implementation->id).second) << implementation->id;
    EXPECT_FALSE(implementation->summary.empty());
    EXPECT_EQ(find_implementation(implementation->id), implementation);
  }
  EXPECT_EQ(find_implementation("denes"), nullptr);
  EXPECT_THAT(implementation_named("denes").error().message, HasSubstr("did you mean 'dense'?"));
}

TEST(Refusals, WithoutAUsableDevice_CudaIsRefusedByAllWithTheReason_AndModelAlways) {
  SmallProblem small("full", std::nullopt, usual());
  for (const Implementation* implementation : implementations()) {
    const std::string id(implementation->id);
    Problem on_cuda = small.problem;
    on_cuda.device = DeviceKind::cuda;
    if (!cuda::usable()) {
      EXPECT_EQ(refusal(id.c_str(), on_cuda), cuda::usable().error().message);
    }
    Problem model = small.problem;
    model.operation = Operation::model;
    EXPECT_EQ(refusal(id.c_str(), model),
              id + " computes attention; a model needs a family of models");
  }
}

TEST(Refusals, SdpaKnowsOnlyFullAttention) {
  EXPECT_EQ(refusal("sdpa", SmallProblem("full", std::nullopt, usual()).problem), "");
  const SmallProblem sparse("sparse", Window::of(4), usual());
  EXPECT_THAT(refusal("sdpa", sparse.problem), HasSubstr("sdpa knows only full attention"));
  EXPECT_EQ(refusal("sdpa-mask", sparse.problem), "");
}

TEST(Refusals, FusedImplementationsHaveNoSeparateProducts) {
  SmallProblem small("full", std::nullopt, SequenceLayout::uniform(1, item(0, 0, 9)));
  small.problem.operation = Operation::windowed_matmul;
  for (const char* id : {"sdpa", "sdpa-mask", "sdpa-flash", "segment"}) {
    EXPECT_THAT(refusal(id, small.problem), HasSubstr("no separate products")) << id;
  }
  EXPECT_EQ(refusal("dense", small.problem), "");
  EXPECT_EQ(refusal("dense-torch", small.problem), "");
  EXPECT_EQ(refusal("longformer-banded", small.problem), "");
  EXPECT_EQ(refusal("bigbird", small.problem), "");
  EXPECT_EQ(refusal("windowed", small.problem), "");
}

TEST(Refusals, SlidingChunksNeedAWindow) {
  EXPECT_THAT(refusal("longformer-chunks", SmallProblem("full", std::nullopt, usual()).problem),
              HasSubstr("longformer-chunks needs a window"));
  EXPECT_EQ(refusal("longformer-chunks", SmallProblem("sparse", Window::of(4), usual()).problem),
            "");
}

TEST(Refusals, OnTheCpuLibTorchsFusedKernelIsFlashAlone) {
  const SmallProblem sparse("sparse", Window::of(4), usual());
  EXPECT_EQ(refusal("sdpa-flash", sparse.problem), "");
  for (const char* id : {"sdpa-efficient", "sdpa-cudnn"}) {
    EXPECT_EQ(
        refusal(id, sparse.problem),
        fmt::format("{} is a CUDA kernel; LibTorch's fused kernel for the CPU is sdpa-flash", id));
  }
}

TEST(Refusals, NoneOfADtypeOrADirection) {
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
    for (const Direction direction : {Direction::forward, Direction::forward_backward}) {
      SmallProblem full("full", std::nullopt, usual());
      SmallProblem sparse("sparse", Window::of(4), usual());
      for (SmallProblem* small : {&full, &sparse}) {
        small->problem.dtype = dtype;
        small->problem.direction = direction;
      }
      for (const Implementation* implementation : implementations()) {
        const std::string id(implementation->id);
        if (runs_on_cuda_alone(id)) continue;
        const SmallProblem& small = needs_a_window(id) ? sparse : full;
        EXPECT_EQ(refusal(id.c_str(), small.problem), "");
      }
    }
  }
}

std::int64_t predicted(const char* id, const Problem& problem) {
  return find_implementation(id)->prepare(problem).value()->predicted_peak_bytes();
}

TEST(Predictions, AreMadeBeforeAnyMemoryOfTheirSizeIsTaken) {
  // 12 score matrices of 200,000 x 200,000: 1.9 TB, far more than preparing may touch.
  const SmallProblem huge("sparse", Window::of(4), SequenceLayout::uniform(1, item(1, 11, 199'988)),
                          12, 32);
  const std::int64_t n = 200'000;
  EXPECT_EQ(predicted("dense", huge.problem), 12 * n * n * 4 + n * n * 4);  // and the mask
  EXPECT_GT(predicted("sdpa-mask", huge.problem), n * n * 4);
}

TEST(Predictions, SdpaNeedsNoScores) {
  const std::int64_t n = 100'000;
  const SmallProblem large("full", std::nullopt, SequenceLayout::uniform(1, item(1, 11, n - 12)),
                           12, 32);
  EXPECT_LT(predicted("sdpa", large.problem), n * 12 * (32 + 1) * 4 + (1 << 20));
}

TEST(WindowedProducts, TakeExactlyTheBandsBytes) {
  SmallProblem small("sparse", Window::of(4), SequenceLayout::uniform(3, item(0, 0, 50)), 2, 8);
  small.problem.operation = Operation::windowed_matmul;
  const auto prepared = find_implementation("windowed")->prepare(small.problem).value();
  EXPECT_EQ(prepared->workspace_bytes(), 3 * 2 * 50 * 9 * 4);
  EXPECT_EQ(prepared->predicted_peak_bytes(), prepared->workspace_bytes());
  EXPECT_EQ(prepared->executed().flop, 4.0 * 3 * 2 * 50 * 9 * 8);
  small.problem.direction = Direction::forward_backward;
  const auto both = find_implementation("windowed")->prepare(small.problem).value();
  // The band and its gradient, which starts at a cache line.
  EXPECT_GE(both->workspace_bytes(), 2 * prepared->workspace_bytes());
  EXPECT_LE(both->workspace_bytes(), 2 * prepared->workspace_bytes() + 64);
  EXPECT_EQ(both->executed().flop, 3 * prepared->executed().flop);
}

TEST(WindowedProducts, TakeNoMoreColumnsThanThereAreTokens) {
  // Windows of 61 and 129 tokens in sequences of 50, and none.
  for (const std::optional<Window> window :
       {std::optional(Window::of(30)), std::optional(Window::of(64)), std::optional<Window>()}) {
    SmallProblem small(window ? "sparse" : "full", window,
                       SequenceLayout::uniform(3, item(0, 0, 50)), 2, 8);
    small.problem.operation = Operation::windowed_matmul;
    for (const char* id : {"windowed", "longformer-banded"}) {
      const auto prepared = find_implementation(id)->prepare(small.problem).value();
      EXPECT_EQ(prepared->workspace_bytes(), 3 * 2 * 50 * 50 * 4) << id;
    }
    EXPECT_EQ(find_implementation("windowed")->prepare(small.problem).value()->executed().flop,
              4.0 * 3 * 2 * 50 * 50 * 8);
  }
}

TEST(ExecutedWork, ABackwardPassMultipliesThreeOrThreeAndAHalfTimesAsMuch) {
  SmallProblem small("full", std::nullopt, usual());
  std::map<std::string_view, double> forward, both;
  for (const Implementation* implementation : implementations()) {
    if (runs_on_cuda_alone(implementation->id) || needs_a_window(implementation->id)) continue;
    small.problem.direction = Direction::forward;
    forward[implementation->id] = implementation->prepare(small.problem).value()->executed().flop;
    small.problem.direction = Direction::forward_backward;
    both[implementation->id] = implementation->prepare(small.problem).value()->executed().flop;
  }
  // Who keeps the weights computes four more products, who does not five.
  for (const char* id :
       {"dense", "dense-torch", "longformer-banded", "bigbird", "flex-blocks", "windowed"}) {
    EXPECT_DOUBLE_EQ(both[id], 3 * forward[id]) << id;
  }
  for (const char* id : {"sdpa", "sdpa-mask", "sdpa-flash", "segment"}) {
    EXPECT_DOUBLE_EQ(both[id], 3.5 * forward[id]) << id;
  }
}

TEST(ExecutedWork, DenseExecutesEveryPairWhateverThePattern) {
  const double expected = 4.0 * 2 * 2 * 13 * 13 * 8;
  for (const char* name : {"full", "sparse"}) {
    const SmallProblem small(name, Window::of(1), usual());
    EXPECT_EQ(find_implementation("dense")->prepare(small.problem).value()->executed().flop,
              expected);
  }
}

}  // namespace
}  // namespace attnscope
