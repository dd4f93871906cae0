// SPDX-License-Identifier: Apache-2.0
//
// The listed implementations apart from their numbers: reasons for refusals, predictions,
// workspaces.

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

using ::testing::AllOf;
using ::testing::HasSubstr;
using tests::item;
using tests::prepare;
using tests::refusal;
using tests::SmallProblem;
using tests::usual;

TEST(CudaUsable, NeedsADriver_ANewEnoughDevice_AndALibTorchThatSeesIt) {
  const auto reason = [](const CudaDevices& found, const cuda::LibTorchCuda& libtorch) {
    const Status status = cuda::usable(found, libtorch);
    return status ? "" : status.error().message;
  };
  const auto one_device = [](int major) {
    return CudaDevices{
        .devices = {{.name = "Some GPU", .compute_major = major, .compute_minor = 5}},
        .reason = ""};
  };
  constexpr cuda::LibTorchCuda without_cuda{.built = false, .devices = 0};
  constexpr cuda::LibTorchCuda with_cuda{.built = true, .devices = 1};
  const CudaDevices none{.devices = {}, .reason = "there is no NVIDIA driver"};
  EXPECT_EQ(reason(none, with_cuda), "there is no NVIDIA driver");
  EXPECT_EQ(reason(none, without_cuda), "there is no NVIDIA driver");
  EXPECT_THAT(reason(one_device(9), without_cuda), HasSubstr("ATTNSCOPE_TORCH_DIR"));
  EXPECT_THAT(reason(one_device(7), with_cuda),
              AllOf(HasSubstr("Some GPU"), HasSubstr("7.5"), HasSubstr("8.0")));
  EXPECT_THAT(reason(one_device(9), {.built = true, .devices = 0}), HasSubstr("LibTorch"));
  EXPECT_EQ(reason(one_device(8), with_cuda), "");
  const auto compiled_for = [&](const char* architectures, int major, int minor) {
    CudaDevices found{
        .devices = {{.name = "Some GPU"}}, .reason = "", .architectures = architectures};
    found.devices[0].compute_major = major;
    found.devices[0].compute_minor = minor;
    return reason(found, with_cuda);
  };
  for (const auto& [architectures, major, minor] : {std::tuple{"80-real,90", 8, 0},
                                                    {"80-real,90", 8, 6},
                                                    {"80-real,90", 8, 9},
                                                    {"80-real,90", 9, 0},
                                                    {"80-real,90", 10, 0},
                                                    {"80-real,90", 12, 0},
                                                    {"90a", 9, 0},
                                                    {"native", 8, 6},
                                                    {"", 8, 6}})
    EXPECT_EQ(compiled_for(architectures, major, minor), "") << architectures << ' ' << minor;
  for (const auto& [architectures, major, minor] : {std::tuple{"90-real", 8, 0},
                                                    {"90", 8, 9},
                                                    {"86-real", 8, 0},
                                                    {"80-real", 9, 0},
                                                    {"90-real", 12, 0},
                                                    {"90a", 12, 0}})
    EXPECT_NE(compiled_for(architectures, major, minor), "") << architectures << ' ' << minor;
  EXPECT_EQ(compiled_for("90-real", 12, 0),
            "Some GPU has compute capability 12.0, and this build's kernels are compiled for "
            "90-real; configure it with -DCMAKE_CUDA_ARCHITECTURES=120");
  EXPECT_TRUE(cuda::usable() || !cuda::usable().error().message.empty());
}

bool runs_only_on_cuda(std::string_view id) {
  return id == "sdpa-efficient" || id == "sdpa-cudnn" || id == "flash-window";
}

bool needs_window(std::string_view id) {
  return id == "longformer-chunks";
}

TEST(ImplementationList, HasEachIdOnceWithASummary) {
  std::set<std::string_view> ids;
  for (const Implementation* implementation : implementations()) {
    EXPECT_TRUE(ids.insert(implementation->id).second) << implementation->id;
    EXPECT_FALSE(implementation->summary.empty());
    EXPECT_EQ(find_implementation(implementation->id), implementation);
  }
  EXPECT_EQ(find_implementation("denes"), nullptr);
  EXPECT_THAT(implementation_named("denes").error().message, HasSubstr("did you mean 'dense'?"));
}

TEST(Refusals, OfCudaWithoutADevice_AndOfOperationModel_AreCommonToAll) {
  SmallProblem small("full", std::nullopt, usual());
  for (const Implementation* implementation : implementations()) {
    const std::string id(implementation->id);
    Problem on_cuda = small.problem;
    on_cuda.device = DeviceKind::cuda;
    if (!cuda::usable()) {
      EXPECT_EQ(refusal(id, on_cuda), cuda::usable().error().message);
    }
    Problem model = small.problem;
    model.operation = Operation::model;
    EXPECT_EQ(refusal(id, model),
              id + " computes attention; operation model needs a family of models");
  }
}

TEST(Refusals, OfPatternsAndOperationsNameTheReason) {
  const SmallProblem full("full", std::nullopt, usual());
  const SmallProblem sparse("sparse", Window::of(4), usual());
  SmallProblem products("full", std::nullopt, SequenceLayout::uniform(1, item(0, 0, 9)));
  products.problem.operation = Operation::windowed_matmul;
  struct Case {
    const char* id;
    const SmallProblem& small;
    const char* reason;  // empty: supported
  };
  const std::vector<Case> cases{
      {"sdpa", full, ""},
      {"sdpa", sparse, "sdpa supports only full attention"},
      {"sdpa-mask", sparse, ""},
      {"longformer-chunks", full, "longformer-chunks needs a window"},
      {"longformer-chunks", sparse, ""},
      {"sdpa-flash", sparse, ""},
      {"sdpa-efficient", sparse,
       "sdpa-efficient is a CUDA kernel; LibTorch's fused kernel for the CPU is sdpa-flash"},
      {"sdpa-cudnn", sparse,
       "sdpa-cudnn is a CUDA kernel; LibTorch's fused kernel for the CPU is sdpa-flash"},
      {"sdpa", products, "no separate products"},
      {"sdpa-mask", products, "no separate products"},
      {"sdpa-flash", products, "no separate products"},
      {"segment", products, "no separate products"},
      {"dense", products, ""},
      {"dense-torch", products, ""},
      {"longformer-banded", products, ""},
      {"bigbird", products, ""},
      {"windowed", products, ""},
  };
  for (const Case& c : cases) {
    const std::string reason = refusal(c.id, c.small.problem);
    EXPECT_EQ(reason.empty(), std::string_view(c.reason).empty()) << c.id << ": " << reason;
    EXPECT_THAT(reason, HasSubstr(c.reason));
  }
}

TEST(Predictions, AreMadeBeforeMemoryOfTheirSizeIsAllocated) {
  // 12 score matrices of 200,000 x 200,000: 1.9 TB, far more than preparing may touch.
  const SmallProblem huge("sparse", Window::of(4), SequenceLayout::uniform(1, item(1, 11, 199'988)),
                          12, 32);
  const std::int64_t n = 200'000;
  EXPECT_EQ(prepare("dense", huge.problem)->predicted_peak_bytes(),
            12 * n * n * 4 + n * n * 4);  // and the mask
  EXPECT_GT(prepare("sdpa-mask", huge.problem)->predicted_peak_bytes(), n * n * 4);
  const SmallProblem full("full", std::nullopt, SequenceLayout::uniform(1, item(1, 11, n / 2 - 12)),
                          12, 32);
  EXPECT_LT(prepare("sdpa", full.problem)->predicted_peak_bytes(),  // no scores
            n / 2 * 12 * (32 + 1) * 4 + (1 << 20));
}

TEST(WindowedProducts, UseExactlyTheBandsBytes) {
  SmallProblem small("sparse", Window::of(4), SequenceLayout::uniform(3, item(0, 0, 50)), 2, 8);
  small.problem.operation = Operation::windowed_matmul;
  const auto prepared = prepare("windowed", small.problem);
  EXPECT_EQ(prepared->workspace_bytes(), 3 * 2 * 50 * 9 * 4);
  EXPECT_EQ(prepared->predicted_peak_bytes(), prepared->workspace_bytes());
  EXPECT_EQ(prepared->executed().flop, 4.0 * 3 * 2 * 50 * 9 * 8);
  small.problem.direction = Direction::forward_backward;
  const auto both = prepare("windowed", small.problem);
  // The band and its gradient, which starts at a cache line.
  EXPECT_GE(both->workspace_bytes(), 2 * prepared->workspace_bytes());
  EXPECT_LE(both->workspace_bytes(), 2 * prepared->workspace_bytes() + 64);
  EXPECT_EQ(both->executed().flop, 3 * prepared->executed().flop);
}

TEST(WindowedProducts, StoreNoMoreColumnsThanTokens) {
  // Windows of 61 and 129 tokens in sequences of 50, and none.
  for (const std::optional<Window> window :
       {std::optional(Window::of(30)), std::optional(Window::of(64)), std::optional<Window>()}) {
    SmallProblem small(window ? "sparse" : "full", window,
                       SequenceLayout::uniform(3, item(0, 0, 50)), 2, 8);
    small.problem.operation = Operation::windowed_matmul;
    for (const char* id : {"windowed", "longformer-banded"}) {
      const auto prepared = prepare(id, small.problem);
      EXPECT_EQ(prepared->workspace_bytes(), 3 * 2 * 50 * 50 * 4) << id;
    }
    EXPECT_EQ(prepare("windowed", small.problem)->executed().flop, 4.0 * 3 * 2 * 50 * 50 * 8);
  }
}

TEST(ExecutedWork, OfBothPassesIsThreeOrThreeAndAHalfTimesThatOfForward) {
  SmallProblem small("full", std::nullopt, usual());
  std::map<std::string_view, double> forward, both;
  for (const Implementation* implementation : implementations()) {
    if (runs_only_on_cuda(implementation->id) || needs_window(implementation->id)) continue;
    small.problem.direction = Direction::forward;
    forward[implementation->id] = implementation->prepare(small.problem).value()->executed().flop;
    small.problem.direction = Direction::forward_backward;
    both[implementation->id] = implementation->prepare(small.problem).value()->executed().flop;
  }
  // Implementations that keep the weights compute four more products, the others five.
  for (const char* id :
       {"dense", "dense-torch", "longformer-banded", "bigbird", "flex-blocks", "windowed"}) {
    EXPECT_DOUBLE_EQ(both[id], 3 * forward[id]) << id;
  }
  for (const char* id : {"sdpa", "sdpa-mask", "sdpa-flash", "segment"}) {
    EXPECT_DOUBLE_EQ(both[id], 3.5 * forward[id]) << id;
  }
}

TEST(ExecutedWork, DenseExecutesEveryPairOfAnyPattern) {
  const double expected = 4.0 * 2 * 2 * 13 * 13 * 8;
  for (const char* name : {"full", "sparse"}) {
    const SmallProblem small(name, Window::of(1), usual());
    EXPECT_EQ(prepare("dense", small.problem)->executed().flop, expected);
  }
}

}  // namespace
}  // namespace attnscope
