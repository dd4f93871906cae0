// SPDX-License-Identifier: Apache-2.0
//
// LibTorch's kernels by name: the problems that each supports on a device, and the work that it
// executes, all of it without a device. TKL's chunks as packed windows.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/attention/sdpa/packed_windows.h"
#include "engine/attention/sdpa/sdpa.h"
#include "tests/attention/small_problem.h"

namespace attnscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tests::item;
using tests::refusal;
using tests::SmallProblem;

constexpr SdpaDevice ampere{.compute_major = 8, .compute_minor = 0, .cudnn_version = 91300};
constexpr SdpaDevice ada{.compute_major = 8, .compute_minor = 9, .cudnn_version = 91300};
constexpr SdpaDevice hopper{.compute_major = 9, .compute_minor = 0, .cudnn_version = 91300};

struct Case {
  SdpaKernel kernel;
  const char* pattern;
  DType dtype;
  std::int64_t head_dim;
  Direction direction;
  SdpaDevice device;
  const char* expected;  // empty: supported
};

std::string verdict(const Case& c) {
  SmallProblem small(c.pattern, Window::of(4), SequenceLayout::uniform(2, item(1, 3, 90)), 2,
                     c.head_dim);
  small.problem.dtype = c.dtype;
  small.problem.direction = c.direction;
  small.problem.device = DeviceKind::cuda;
  const Status ok = sdpa_kernel_supports(c.kernel, small.problem, c.device);
  return ok ? "" : ok.error().message;
}

TEST(SdpaKernelsOnCuda, SupportTheProblemsThatLibTorchAllows) {
  constexpr auto flash = SdpaKernel::flash;
  constexpr auto efficient = SdpaKernel::efficient;
  constexpr auto cudnn = SdpaKernel::cudnn;
  constexpr auto f32 = DType::float32;
  constexpr auto f16 = DType::float16;
  constexpr auto bf16 = DType::bfloat16;
  constexpr auto forward = Direction::forward;
  constexpr auto both = Direction::forward_backward;
  constexpr SdpaDevice volta{.compute_major = 7, .compute_minor = 0, .cudnn_version = 91300};
  constexpr SdpaDevice without_cudnn{.compute_major = 9, .compute_minor = 0};
  constexpr SdpaDevice old_cudnn{.compute_major = 9, .compute_minor = 0, .cudnn_version = 8907};
  const std::vector<Case> cases{
      {flash, "full", f16, 32, both, hopper, ""},
      {flash, "full", bf16, 20, forward, ampere, ""},  // padded to 24
      {flash, "full", bf16, 256, both, hopper, ""},
      {flash, "full", f16, 200, forward, ada, ""},
      {flash, "full", f32, 32, forward, hopper,
       "sdpa-flash supports float16 and bfloat16 on CUDA, not float32; sdpa-efficient supports "
       "float32"},
      {flash, "full", f16, 264, forward, hopper,
       "sdpa-flash supports head dimensions up to 256, not 264"},
      {flash, "full", f16, 200, both, ada,
       "sdpa-flash has no gradients for head dimensions 193 to 224 on compute capability 8.9"},
      {flash, "full", f16, 32, forward, volta,
       "sdpa-flash runs on devices of compute capability 8.0 to 12.1, and this one has 7.0"},
      {flash, "sparse", f16, 32, forward, hopper,
       "sdpa-flash supports no mask on CUDA, and pattern sparse needs one here; sdpa-efficient "
       "supports it"},
      {efficient, "full", f32, 32, both, ampere, ""},
      {efficient, "sparse", bf16, 320, both, hopper, ""},
      {efficient, "sparse", f32, 20, forward, hopper, ""},
      {efficient, "full", f32, 30, forward, hopper,
       "sdpa-efficient supports head dimensions that are multiples of 4 in float32, not 30"},
      {efficient, "full", f16, 20, forward, hopper,
       "sdpa-efficient supports head dimensions that are multiples of 8 in float16, not 20"},
      {efficient, "full", f16, 32, forward, volta,
       "sdpa-efficient runs on devices of compute capability 8.0 to 12.1, and this one has 7.0"},
      {cudnn, "full", f16, 128, both, hopper, ""},
      {cudnn, "sparse", bf16, 32, both, ampere, ""},
      {cudnn, "full", f32, 32, forward, hopper,
       "sdpa-cudnn supports float16 and bfloat16 on CUDA, not float32; sdpa-efficient supports "
       "float32"},
      {cudnn, "full", f16, 136, forward, hopper,
       "sdpa-cudnn supports head dimensions that are multiples of 8 up to 128, not 136"},
      {cudnn, "full", f16, 20, forward, hopper,
       "sdpa-cudnn supports head dimensions that are multiples of 8 up to 128, not 20"},
      {cudnn, "full", f16, 32, forward, without_cudnn, "sdpa-cudnn needs a LibTorch with cuDNN"},
      {cudnn, "full", f16, 32, forward, old_cudnn,
       "sdpa-cudnn needs cuDNN 9.0 or newer, and LibTorch uses version 8907"},
      {cudnn, "full", f16, 32, forward, volta,
       "sdpa-cudnn runs on devices of compute capability 8.0 to 12.1, and this one has 7.0"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(verdict(c), c.expected)
        << id_of(c.kernel) << " " << c.pattern << " " << name_of(c.dtype) << " " << c.head_dim
        << " " << name_of(c.direction);
  }
}

TEST(SdpaKernelsOnCuda, CudnnDeclinesAnItemOfASingleToken) {
  SmallProblem small("full", std::nullopt,
                     SequenceLayout::make({item(1, 3, 9), item(1, 0, 0)}).value(), 2, 32);
  small.problem.dtype = DType::float16;
  small.problem.device = DeviceKind::cuda;
  EXPECT_TRUE(sdpa_kernel_supports(SdpaKernel::flash, small.problem, hopper));
  const Status ok = sdpa_kernel_supports(SdpaKernel::cudnn, small.problem, hopper);
  ASSERT_FALSE(ok);
  EXPECT_EQ(ok.error().message,
            "sdpa-cudnn supports no item of a single token, and this batch has one");
}

TEST(SdpaKernelsOnCuda, DeclineMoreItemsThanAGridHas) {
  SmallProblem small("full", std::nullopt, SequenceLayout::uniform(65536, item(1, 0, 1)), 1, 32);
  small.problem.dtype = DType::float16;
  small.problem.device = DeviceKind::cuda;
  for (const SdpaKernel kernel : {SdpaKernel::flash, SdpaKernel::efficient, SdpaKernel::cudnn}) {
    const Status ok = sdpa_kernel_supports(kernel, small.problem, hopper);
    ASSERT_FALSE(ok);
    EXPECT_THAT(ok.error().message, HasSubstr("at most 65535 items in one call"));
  }
}

TEST(SdpaKernelsOnTheCpu, FlashSupportsEveryDtypeHeadDimensionAndPattern) {
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
    for (const std::int64_t dim : {7, 32, 300}) {
      SmallProblem small("sparse", Window::of(4), SequenceLayout::uniform(2, item(1, 3, 9)), 2,
                         dim);
      small.problem.dtype = dtype;
      EXPECT_TRUE(sdpa_kernel_supports(SdpaKernel::flash, small.problem, {}));
    }
  }
}

TEST(FlashTiles, CoverTheRectangle_OrTheTilesThatMeetAWindow) {
  EXPECT_EQ(pairs_in_tiles({.rows = 1, .keys = 1}, flash_forward_tile(32)), 128.0 * 128);
  EXPECT_EQ(pairs_in_tiles({.rows = 300, .keys = 129}, flash_forward_tile(128)), 384.0 * 192);
  // 512 tokens in four tiles: the first and the last row tile meet one neighbour, the others two.
  EXPECT_EQ(pairs_in_tiles({.rows = 512, .keys = 512, .window = 4}, flash_forward_tile(32)),
            128.0 * 128 * (2 + 3 + 3 + 2));
  EXPECT_EQ(pairs_in_tiles({.rows = 512, .keys = 512, .window = 0}, flash_forward_tile(32)),
            128.0 * 128 * 4);
  // The next head dimension that has a kernel.
  EXPECT_EQ(flash_forward_tile(8).dim, 32);
  EXPECT_EQ(flash_forward_tile(33).dim, 64);
  EXPECT_EQ(flash_backward_tile(129).dim, 192);
  EXPECT_EQ(flash_backward_tile(256).dim, 256);
}

/// A CUDA problem can be prepared without a device, because nothing is called.
std::unique_ptr<PreparedAttention> prepared_for_cuda(SmallProblem& small, SdpaKernel kernel) {
  small.problem.device = DeviceKind::cuda;
  small.problem.dtype = DType::float16;
  return prepare_sdpa(small.problem, kernel, /*masked=*/false);
}

TEST(SdpaKernelsOnCuda, FlashExecutesWholeTiles) {
  SmallProblem small("full", std::nullopt, SequenceLayout::uniform(3, item(1, 3, 126)), 2, 20);
  // 130 tokens are two tiles of 128 either way, and head dimension 20 is computed as 32.
  const double product = 2.0 * 3 * 2 * 256 * 256 * 32;
  EXPECT_EQ(prepared_for_cuda(small, SdpaKernel::flash)->executed().flop, 2 * product);
  EXPECT_EQ(prepared_for_cuda(small, SdpaKernel::efficient)->executed().flop,
            2 * 2.0 * 3 * 2 * 130 * 130 * 20);
  small.problem.direction = Direction::forward_backward;
  EXPECT_EQ(prepared_for_cuda(small, SdpaKernel::flash)->executed().flop, 7 * product);
}

TEST(SdpaKernelsOnCuda, FlashCopiesHeadsThatAreNoMultipleOf8) {
  const SequenceLayout layout = SequenceLayout::uniform(1, item(1, 3, 124));
  SmallProblem even("full", std::nullopt, layout, 1, 24);
  SmallProblem odd("full", std::nullopt, layout, 1, 20);
  const auto bytes = [](SmallProblem& small) {
    return prepared_for_cuda(small, SdpaKernel::flash)->predicted_peak_bytes();
  };
  EXPECT_EQ(bytes(odd), bytes(even) + 3 * 128 * 24 * 2);
}

TEST(PackedWindows, AreOnePer40TokensOfADocument) {
  for (const auto& [tokens, windows] :
       {std::pair{1, 1}, {39, 1}, {40, 1}, {41, 2}, {44, 2}, {80, 2}, {81, 3}, {2000, 50}}) {
    const SmallProblem small("chunks", std::nullopt,
                             SequenceLayout::uniform(3, item(0, 0, tokens)));
    EXPECT_EQ(packed_windows(small.problem)->count(), 3 * windows) << tokens;
  }
}

TEST(PackedWindows, AreExecutedWithTheirPadding) {
  const SmallProblem small("chunks", std::nullopt, SequenceLayout::uniform(2, item(0, 0, 81)), 10,
                           30);
  EXPECT_EQ(tests::prepare("sdpa", small.problem)->executed().flop,
            2.0 * 3 * 10 * 50 * 50 * 4 * 30);
}

TEST(PackedWindows, ComputeClsAndTheQuerySeparately) {
  const SmallProblem small("chunks", std::nullopt, SequenceLayout::uniform(2, item(1, 3, 81)));
  const PackedWindows windows = packed_windows(small.problem).value();
  ASSERT_EQ(windows.whole.size(), 2U);
  EXPECT_EQ(windows.items, 2);
  EXPECT_EQ(windows.whole[0].rows, (TokenRange{0, 1}));
  EXPECT_THAT(windows.whole[0].keys, ElementsAre(TokenRange{0, 85}));
  EXPECT_EQ(windows.whole[1].rows, (TokenRange{1, 4}));
  EXPECT_THAT(windows.whole[1].keys, ElementsAre(TokenRange{1, 4}));
}

TEST(PackedWindows, IncludeASharedQueryAtItsPosition) {
  const auto layout = SequenceLayout::make({item(1, 0, 50), item(1, 0, 3)}, 7);
  const SmallProblem small("chunks", std::nullopt, *layout);
  const PackedWindows windows = packed_windows(small.problem).value();
  ASSERT_EQ(windows.whole.size(), 3U);
  EXPECT_THAT(windows.whole[0].keys, ElementsAre(TokenRange{0, 7}));
  EXPECT_THAT(windows.whole[1].keys, ElementsAre(TokenRange{0, 58}));
  EXPECT_THAT(windows.whole[2].keys, ElementsAre(TokenRange{0, 7}, TokenRange{58, 62}));
}

TEST(PackedWindows, DeclineOtherPatternsWithChunks) {
  const SequenceLayout layout = SequenceLayout::uniform(1, item(1, 3, 81));
  const auto reason = [&](const char* rules) {
    return refusal("sdpa", SmallProblem(fmt::format(R"({{"name":"mine","attends":{{{}}}}})", rules),
                                        std::nullopt, layout)
                               .problem);
  };
  for (const char* rules :
       {R"("document": {"document": {"chunk": 8}, "query": "whole"})",
        R"("query": {"query": {"chunk": 2}}, "document": {"document": {"chunk": 8}})",
        R"("query": {"query": {"window": 2}}, "document": {"document": {"chunk": 8}})",
        R"("query": {"query": {"chunk": 2}}, "document": {"document": "whole"})",
        R"("sentence": {"sentence": "whole"}, "document": {"document": {"chunk": 8}})"}) {
    EXPECT_THAT(reason(rules),
                HasSubstr("only to their own chunks; sdpa-mask supports pattern mine"))
        << rules;
  }
  EXPECT_EQ(reason(R"("document": {"document": {"chunk": 8, "overlap": 20}})"), "");
}

}  // namespace
}  // namespace attnscope
