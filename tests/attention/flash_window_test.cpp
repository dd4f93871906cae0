// SPDX-License-Identifier: Apache-2.0
//
// flash-window without LibTorch's kernel, which a plain kernel on the CPU replaces: the parts of a
// plan, the attention assembled from parts, and the problems that are declined.

#include "engine/attention/flash_window/flash_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "engine/attention/flash_window/assembled_attention.h"
#include "engine/attention/list.h"
#include "engine/proof/check.h"
#include "engine/proof/reference.h"
#include "tests/attention/loop_part_kernel.h"
#include "tests/attention/small_problem.h"

namespace attnscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tests::item;
using tests::SmallProblem;

std::vector<RowGroup> groups_of(const SmallProblem& small) {
  auto groups = parts_of(small.problem);
  EXPECT_TRUE(groups) << groups.error().message;
  return groups ? *groups : std::vector<RowGroup>();
}

TEST(FlashWindowParts, SparseIsFourCallsForABatch) {
  const auto groups =
      groups_of(SmallProblem("sparse", Window::of(4), SequenceLayout::uniform(2, item(1, 3, 16))));
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_THAT(groups[0].queries, ElementsAre(TokenRange{0, 1}, TokenRange{20, 21}));
  ASSERT_EQ(groups[0].parts.size(), 1U);
  EXPECT_THAT(groups[0].parts[0].keys, ElementsAre(TokenRange{0, 20}, TokenRange{20, 40}));
  EXPECT_THAT(groups[1].queries, ElementsAre(TokenRange{1, 4}, TokenRange{21, 24}));
  ASSERT_EQ(groups[1].parts.size(), 1U);
  EXPECT_THAT(groups[1].parts[0].keys, ElementsAre(TokenRange{1, 4}, TokenRange{21, 24}));
  EXPECT_THAT(groups[2].queries, ElementsAre(TokenRange{4, 20}, TokenRange{24, 40}));
  ASSERT_EQ(groups[2].parts.size(), 2U);
  EXPECT_THAT(groups[2].parts[0].keys, ElementsAre(TokenRange{0, 4}, TokenRange{20, 24}));
  EXPECT_EQ(groups[2].parts[0].window, AttentionPart::no_window);
  EXPECT_THAT(groups[2].parts[1].keys, ElementsAre(TokenRange{4, 20}, TokenRange{24, 40}));
  EXPECT_EQ(groups[2].parts[1].window, 4);
}

TEST(FlashWindowParts, FullAttentionIsOneCall) {
  const auto groups =
      groups_of(SmallProblem("full", std::nullopt, SequenceLayout::uniform(3, item(1, 3, 16))));
  ASSERT_EQ(groups.size(), 1U);
  ASSERT_EQ(groups[0].parts.size(), 1U);
  EXPECT_EQ(groups[0].queries, groups[0].parts[0].keys);
}

TEST(FlashWindowParts, DocumentsShorterThanTheWindowAreASeparateCall) {
  const auto groups = groups_of(
      SmallProblem("sparse", Window::of(4),
                   SequenceLayout::make({item(1, 3, 16), item(1, 3, 4), item(1, 2, 9)}).value()));
  ASSERT_EQ(groups.size(), 4U);
  EXPECT_EQ(groups[2].queries.size(), 2U);
  EXPECT_THAT(groups[3].queries, ElementsAre(TokenRange{24, 28}));
  ASSERT_EQ(groups[3].parts.size(), 1U);
  EXPECT_THAT(groups[3].parts[0].keys, ElementsAre(TokenRange{20, 28}));
}

TEST(FlashWindowParts, AllItemsAttendToASharedQueryInOneCall) {
  const auto groups = groups_of(
      SmallProblem("sparse", Window::of(4), SequenceLayout::uniform(3, item(1, 0, 16), 5)));
  for (const RowGroup& group : groups) {
    if (group.queries.size() != 3 || group.queries[0].size() != 16) continue;
    ASSERT_EQ(group.parts.size(), 3U);  // the query, [CLS], the document
    EXPECT_THAT(group.parts[0].keys,
                ElementsAre(TokenRange{0, 5}, TokenRange{0, 5}, TokenRange{0, 5}));
    return;
  }
  FAIL() << "the documents are in no group";
}

TEST(FlashWindowParts, DeclineOtherPlansWithAReason) {
  const auto reason = [](const SmallProblem& small) {
    const auto groups = parts_of(small.problem);
    return groups ? std::string() : groups.error().message;
  };
  const auto of_pattern = [&](const char* pattern, std::int64_t document) {
    return reason({pattern, Window::of(4), SequenceLayout::uniform(1, item(1, 3, document))});
  };
  EXPECT_THAT(of_pattern("qds", 100), HasSubstr("pattern qds has global tokens scattered"));
  EXPECT_THAT(of_pattern("bigbird", 1000), HasSubstr("pattern bigbird"));
  EXPECT_EQ(of_pattern("qds", 20), "");  // a single sentence begins where the document begins
  EXPECT_EQ(of_pattern("longformer", 100), "");

  SmallProblem blocks("full", std::nullopt, SequenceLayout::uniform(1, item(0, 0, 16)));
  blocks.plan.segments[0].kind = SegmentKind::block;
  blocks.plan.segments[0].window = 8;
  EXPECT_THAT(reason(blocks), HasSubstr("supports windows, not blocks"));
  SmallProblem heads("full", std::nullopt, SequenceLayout::uniform(1, item(0, 0, 16)));
  heads.plan.tasks[0].heads = {0, 1};
  EXPECT_THAT(reason(heads), HasSubstr("differs between heads"));
}

TEST(EvenSequences, HaveOneLengthAndOneDistance) {
  const std::vector<TokenRange> even{{2, 5}, {12, 15}, {22, 25}};
  const auto found = even_sequences(even, 0);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->first, 2);
  EXPECT_EQ(found->length, 3);
  EXPECT_EQ(found->distance, 10);
  EXPECT_EQ(found->count, 3);
  EXPECT_TRUE(even_sequences(even, 10));   // from item to item
  EXPECT_TRUE(even_sequences(even, 30));   // within one
  EXPECT_FALSE(even_sequences(even, 15));  // neither
  EXPECT_FALSE(even_sequences(std::vector<TokenRange>{{2, 5}, {12, 16}}, 0));
  EXPECT_FALSE(even_sequences(std::vector<TokenRange>{{2, 5}, {12, 15}, {23, 26}}, 0));
  EXPECT_FALSE(even_sequences(std::vector<TokenRange>{{2, 5}, {4, 7}}, 0));  // they overlap
  EXPECT_EQ(even_sequences(std::vector<TokenRange>{{2, 5}, {2, 5}}, 0)->distance, 0);
}

/// flash-window with the tests' kernel.
Implementation assembled() {
  return {.id = "assembled",
          .summary = "parts of plain softmax",
          .is_fused = true,
          .supports =
              [](const Problem& problem) {
                const auto groups = parts_of(problem);
                return groups ? Status() : tl::unexpected(groups.error());
              },
          .prepare =
              [](const Problem& problem) {
                static const tests::LoopPartKernel kernel;
                return prepare_assembled(problem, *parts_of(problem), kernel);
              }};
}

TEST(AssembledAttention, MatchesTheReferenceWithLogSumExpsAndGradients) {
  ImplementationList list;
  list.add({assembled()});
  std::map<std::string, std::set<std::string>> computed;
  const int wrong = check_implementations(list.all(), DeviceKind::cpu, 1, [&](const CheckRow& row) {
    if (row.outcome == CheckRow::Outcome::wrong) {
      ADD_FAILURE() << row.pattern << " " << row.window << " " << row.shape << ": " << row.reason;
    }
    if (row.outcome == CheckRow::Outcome::ok) computed[row.pattern].insert(row.shape);
  });
  EXPECT_EQ(wrong, 0);
  for (const char* pattern :
       {"full", "longformer", "sparse", "sparse-without-independent-query", "listwise"}) {
    EXPECT_GT(computed[pattern].size(), 50U) << pattern;
  }
  // Ragged batches, a shared query, several documents, and their gradients.
  const auto has = [&](const char* text) {
    return std::ranges::any_of(computed["sparse"], [&](const std::string& shape) {
      return shape.find(text) != std::string::npos && shape.ends_with("forward-backward");
    });
  };
  EXPECT_TRUE(has("1+3+17 and 1+0+1"));
  EXPECT_TRUE(has("with a shared query"));
  EXPECT_TRUE(has("(20,13,1)"));
}

/// Counts the calls of the tests' kernel.
class CountingKernel final : public PartKernel {
 public:
  PartResult forward(const PartOperands& part) const override {
    ++forward_calls;
    even_calls += part.q.dim() == 4 ? 1 : 0;
    return kernel_.forward(part);
  }
  PartGradients backward(const PartOperands& part, const at::Tensor& grad_o,
                         const PartResult& whole) const override {
    ++backward_calls;
    return kernel_.backward(part, grad_o, whole);
  }
  mutable int forward_calls = 0, backward_calls = 0, even_calls = 0;

 private:
  tests::LoopPartKernel kernel_;
};

/// One forward and backward call with q = k = v = grad_o, drawn at random times `factor`.
std::unique_ptr<tests::CallMemory> called(const Problem& problem, const PartKernel& kernel,
                                          float factor = 1) {
  auto memory = std::make_unique<tests::CallMemory>(problem);
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, factor);
  std::vector<float> values(static_cast<std::size_t>(memory->q.values()));
  std::ranges::generate(values, [&] { return normal(random); });
  for (auto* tensor : {&memory->q, &memory->k, &memory->v, &memory->grad_o}) tensor->set(values);
  const auto prepared = prepare_assembled(problem, parts_of(problem).value(), kernel);
  EXPECT_TRUE(prepared->forward(memory->forward()));
  EXPECT_TRUE(prepared->backward(memory->backward()));
  return memory;
}

TEST(AssembledAttention, CallsItsKernelOncePerPart_InPlaceForEqualItems) {
  struct Case {
    SequenceLayout layout;
    bool even;
  };
  const std::vector<Case> cases{
      {SequenceLayout::uniform(20, item(1, 3, 16)), true},
      {SequenceLayout::uniform(20, item(1, 0, 16), 3), true},  // a shared query
      {SequenceLayout::make({item(1, 3, 16), item(1, 5, 20), item(1, 3, 30)}).value(), false}};
  for (const Case& c : cases) {
    for (const MemoryOrder order : {MemoryOrder::head_major, MemoryOrder::token_major}) {
      SmallProblem small("sparse", Window::of(4), c.layout);
      small.problem.direction = Direction::forward_backward;
      small.problem.memory_order = order;
      const CountingKernel kernel;
      called(small.problem, kernel);
      // [CLS] x all, query x query, document x query and [CLS], document x document; a shared
      // query is a separate part.
      const int expected = c.layout.shares_query() ? 6 : 4;
      EXPECT_EQ(kernel.forward_calls, expected);
      EXPECT_EQ(kernel.backward_calls, expected);
      EXPECT_EQ(kernel.even_calls, c.even ? expected : 0);
    }
  }
}

TEST(AssembledAttention, MergesPartsWhoseScoresDifferByThousands) {
  SmallProblem small("sparse", Window::of(2), SequenceLayout::uniform(2, item(1, 3, 16)), 2, 8);
  small.problem.direction = Direction::forward_backward;
  const auto memory = called(small.problem, tests::LoopPartKernel(), /*factor=*/40);
  const ConstTensor in = memory->q.input();
  EXPECT_LE(relative_error(
                compute_reference(small.problem, sample_rows(small.layout, 2, 80, 1), in, in, in),
                memory->o.tensor()),
            1e-4);
}

TEST(FlashWindow, SupportsTheProblemsOfItsKernelInPlansOfItsParts) {
  constexpr SdpaDevice hopper{.compute_major = 9, .compute_minor = 0, .cudnn_version = 0};
  constexpr SdpaDevice volta{.compute_major = 7, .compute_minor = 0, .cudnn_version = 0};
  struct Case {
    const char* pattern;
    DType dtype;
    std::int64_t head_dim;
    DeviceKind device;
    SdpaDevice found;
    const char* expected;
  };
  const std::vector<Case> cases{
      {"sparse", DType::float16, 32, DeviceKind::cuda, hopper, ""},
      {"longformer", DType::bfloat16, 256, DeviceKind::cuda, hopper, ""},
      {"sparse", DType::float32, 32, DeviceKind::cuda, hopper,
       "flash-window supports float16 and bfloat16 on CUDA, not float32"},
      {"sparse", DType::float16, 20, DeviceKind::cuda, hopper,
       "flash-window supports head dimensions that are multiples of 8, not 20"},
      {"sparse", DType::float16, 264, DeviceKind::cuda, hopper,
       "flash-window supports head dimensions up to 256, not 264"},
      {"sparse", DType::float16, 32, DeviceKind::cuda, volta,
       "flash-window runs on devices of compute capability 8.0 to 12.1, and this one has 7.0"},
      {"qds", DType::float16, 32, DeviceKind::cuda, hopper,
       "flash-window supports only contiguous"},
      {"sparse",
       DType::float16,
       32,
       DeviceKind::cpu,
       {},
       "flash-window uses LibTorch's flash kernel for CUDA"},
  };
  for (const Case& c : cases) {
    SmallProblem small(c.pattern, Window::of(4), SequenceLayout::uniform(2, item(1, 3, 90)), 2,
                       c.head_dim);
    small.problem.dtype = c.dtype;
    small.problem.device = c.device;
    const Status ok = flash_window_supports(small.problem, c.found);
    if (std::string_view(c.expected).empty()) {
      EXPECT_TRUE(ok) << ok.error().message;
    } else {
      ASSERT_FALSE(ok) << c.expected;
      EXPECT_THAT(ok.error().message, ::testing::StartsWith(c.expected));
    }
  }
}

TEST(FlashWindow, ExecutesWholeTilesAroundItsWindow) {
  SmallProblem small("longformer", Window::of(4), SequenceLayout::uniform(1, item(0, 0, 512)), 2,
                     32);
  static const tests::LoopPartKernel kernel;
  const auto prepared = prepare_assembled(small.problem, groups_of(small), kernel);
  // Ten tiles of 128 x 128, two products, two heads.
  EXPECT_EQ(prepared->executed().flop, 2.0 * 2 * 2 * 10 * 128 * 128 * 32);
}

}  // namespace
}  // namespace attnscope
