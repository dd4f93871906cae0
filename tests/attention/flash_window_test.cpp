// SPDX-License-Identifier: Apache-2.0
//
// flash-window without LibTorch's kernel, which a plain kernel on the CPU replaces: the parts of a
// plan, the attention assembled from parts, and the problems that are declined.

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "engine/attention/flash_window/assembled_attention.h"
#include "engine/attention/list.h"
#include "engine/proof/check.h"
#include "engine/proof/reference.h"
#include "tests/attention/small_problem.h"

namespace attnscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tests::item;
using tests::SmallProblem;
using tests::text_of;

std::vector<RowGroup> groups_of(const SmallProblem& small) {
  auto groups = parts_of(small.problem);
  EXPECT_TRUE(groups) << groups.error().message;
  return groups ? *groups : std::vector<RowGroup>();
}

/// A line for each group: its queries, and the keys of its parts, with the window if there is one.
std::vector<std::string> text_of(const std::vector<RowGroup>& groups) {
  std::vector<std::string> lines;
  for (const RowGroup& group : groups) {
    std::string& line = lines.emplace_back(text_of(group.queries) + ":");
    for (const AttentionPart& part : group.parts) {
      line += " on " + text_of(part.keys);
      if (part.window != AttentionPart::no_window) line += fmt::format(" within {}", part.window);
    }
  }
  return lines;
}

TEST(FlashWindowParts, AreOneCallForAllItemsWithTheSameKindOfRows) {
  const auto parts = [](const char* pattern, const SequenceLayout& layout) {
    return text_of(groups_of(SmallProblem(pattern, Window::of(4), layout)));
  };
  EXPECT_THAT(parts("full", SequenceLayout::uniform(3, item(1, 3, 16))),
              ElementsAre("0-20 20-40 40-60: on 0-20 20-40 40-60"));
  EXPECT_THAT(parts("sparse", SequenceLayout::uniform(2, item(1, 3, 16))),
              ElementsAre("0-1 20-21: on 0-20 20-40", "1-4 21-24: on 1-4 21-24",
                          "4-20 24-40: on 0-4 20-24 on 4-20 24-40 within 4"));
  // A document shorter than the window is a separate call.
  EXPECT_THAT(
      parts("sparse", SequenceLayout::make({item(1, 3, 16), item(1, 3, 4), item(1, 2, 9)}).value()),
      ElementsAre("0-1 20-21 28-29: on 0-20 20-28 28-40", "1-4 21-24 29-31: on 1-4 21-24 29-31",
                  "4-20 31-40: on 0-4 28-31 on 4-20 31-40 within 4", "24-28: on 20-28"));
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

/// A part kernel of plain masked softmax, sequence by sequence, in float32 on the CPU: it stands in
/// for the flash kernel where there is no CUDA.
class LoopPartKernel final : public PartKernel {
 public:
  PartResult forward(const PartOperands& part) const override {
    PartResult result{.o = at::empty(part.q.sizes(), part.q.options()),
                      .lse = at::empty(numbers_shape(part), at::kFloat)};
    for (std::int64_t s = 0; s < sequences(part); ++s) {
      const at::Tensor scores = scores_of(part, s);
      const at::Tensor lse = at::logsumexp(scores, {-1});
      const at::Tensor weights = at::exp(scores - lse.unsqueeze(-1));
      rows(part, result.o, s).copy_(at::matmul(weights, keys(part, part.v, s)).transpose(0, 1));
      numbers(part, result.lse, s).copy_(lse);
    }
    return result;
  }

  PartGradients backward(const PartOperands& part, const at::Tensor& grad_o,
                         const PartResult& whole) const override {
    PartGradients gradients{.q = at::empty(part.q.sizes(), part.q.options()),
                            .k = at::empty(part.k.sizes(), part.k.options()),
                            .v = at::empty(part.v.sizes(), part.v.options())};
    for (std::int64_t s = 0; s < sequences(part); ++s) {
      const at::Tensor lse = numbers(part, whole.lse, s).unsqueeze(-1);
      const at::Tensor weights = at::exp(scores_of(part, s) - lse);
      const at::Tensor arriving = rows(part, grad_o, s).transpose(0, 1).to(at::kFloat);
      const at::Tensor o = rows(part, whole.o, s).transpose(0, 1).to(at::kFloat);
      const at::Tensor of_weights = at::matmul(arriving, keys(part, part.v, s).transpose(1, 2));
      const at::Tensor of_scores =
          weights * (of_weights - (arriving * o).sum(-1, /*keepdim=*/true)) * part.scale;
      const at::Tensor q = rows(part, part.q, s).transpose(0, 1).to(at::kFloat);
      rows(part, gradients.q, s)
          .copy_(at::matmul(of_scores, keys(part, part.k, s)).transpose(0, 1));
      key_rows(part, gradients.k, s)
          .copy_(at::matmul(of_scores.transpose(1, 2), q).transpose(0, 1));
      key_rows(part, gradients.v, s)
          .copy_(at::matmul(weights.transpose(1, 2), arriving).transpose(0, 1));
    }
    return gradients;
  }

 private:
  static bool is_even(const PartOperands& part) { return part.q.dim() == 4; }
  static std::int64_t sequences(const PartOperands& part) {
    return is_even(part) ? part.q.size(0) : part.row_borders.numel() - 1;
  }
  static std::vector<std::int64_t> numbers_shape(const PartOperands& part) {
    if (is_even(part)) return {part.q.size(0), part.q.size(2), part.q.size(1)};
    return {part.q.size(1), part.q.size(0)};
  }
  /// [length, heads, dim] of sequence s.
  static at::Tensor sequence(const at::Tensor& values, const at::Tensor& borders, std::int64_t s) {
    if (values.dim() == 4) return values.select(0, s);
    const std::int32_t* border = borders.data_ptr<std::int32_t>();
    return values.slice(0, border[s], border[s + 1]);
  }
  static at::Tensor rows(const PartOperands& part, const at::Tensor& values, std::int64_t s) {
    return sequence(values, part.row_borders, s);
  }
  static at::Tensor key_rows(const PartOperands& part, const at::Tensor& values, std::int64_t s) {
    return sequence(values, part.key_borders, s);
  }
  /// [heads, keys, dim] in float32.
  static at::Tensor keys(const PartOperands& part, const at::Tensor& values, std::int64_t s) {
    return key_rows(part, values, s).transpose(0, 1).to(at::kFloat);
  }
  /// [heads, rows] of sequence s.
  static at::Tensor numbers(const PartOperands& part, const at::Tensor& values, std::int64_t s) {
    if (is_even(part)) return values.select(0, s);
    const std::int32_t* border = part.row_borders.data_ptr<std::int32_t>();
    return values.slice(1, border[s], border[s + 1]);
  }
  /// [heads, rows, keys], -inf outside the window.
  static at::Tensor scores_of(const PartOperands& part, std::int64_t s) {
    const at::Tensor q = rows(part, part.q, s).transpose(0, 1).to(at::kFloat);
    const at::Tensor k = keys(part, part.k, s);
    const at::Tensor scores = at::matmul(q, k.transpose(1, 2)) * part.scale;
    if (part.window < 0) return scores;
    const at::Tensor distance =
        (at::arange(q.size(1)).unsqueeze(1) - at::arange(k.size(1)).unsqueeze(0)).abs();
    return scores.masked_fill(distance.gt(part.window), -std::numeric_limits<float>::infinity());
  }
};

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
                static const LoopPartKernel kernel;
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
  LoopPartKernel kernel_;
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
  const auto memory = called(small.problem, LoopPartKernel(), /*factor=*/40);
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
  static const LoopPartKernel kernel;
  const auto prepared = prepare_assembled(small.problem, groups_of(small), kernel);
  // Ten tiles of 128 x 128, two products, two heads.
  EXPECT_EQ(prepared->executed().flop, 2.0 * 2 * 2 * 10 * 128 * 128 * 32);
}

}  // namespace
}  // namespace attnscope
