// SPDX-License-Identifier: Apache-2.0
//
// The kernels on the CPU split plans correctly: long documents in strips and chunks, windows wider
// than the halo of a strip, a million tokens, rows gigabytes apart.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "kernels/cpu/segment.h"
#include "kernels/cpu/windowed.h"
#include "tests/kernels/subject.h"

namespace attnscope::testing {
namespace {

SequenceLayout one_document(std::int64_t query, std::int64_t tokens) {
  return SequenceLayout::uniform(1, {.query = query, .documents = {tokens}});
}

const Subject& segment() {
  return subjects().front();
}

class LongDocuments : public ::testing::TestWithParam<Subject> {
 protected:
  /// Uses the intervals of the plan, because the oracle has too many pairs.
  static void expect_right_by_plan(const AttentionCase& problem) {
    const AttentionPlan plan = problem.plan();
    expect_right(GetParam(), plan, problem.inputs(), keys_from_plan(plan), problem.text());
  }
};
INSTANTIATE_TEST_SUITE_P(Kernels, LongDocuments, ::testing::ValuesIn(subjects()),
                         [](const auto& parameter) { return parameter.param.name; });

TEST_P(LongDocuments, InManyStrips_AreRight) {
  for (const std::string pattern : {"sparse", "longformer", "qds"}) {
    for (const std::int64_t w : {0, 4, 70, 1500}) {
      if (w == 1500 && pattern != "sparse") continue;
      expect_right_by_plan({.pattern = pattern,
                            .window = Window::of(w),
                            .layout = one_document(3, 2800),
                            .heads = 1,
                            .head_dim = 8});
    }
  }
}

TEST_P(LongDocuments, OfWideHeads_AreRight) {
  // These strips are the shortest, and windows extend beyond the rows packed with them.
  for (const std::int64_t w : {30, 127, 128, 129, 200, 600}) {
    expect_right_by_plan({.window = Window::of(w),
                          .layout = one_document(3, 800),
                          .heads = 1,
                          .head_dim = 256,
                          .order = w % 2 == 0 ? Order::token_major_apart : Order::head_major});
  }
}

TEST_P(LongDocuments, WithASharedQuery_AreRight) {
  // [CLS] rows see the shared query and their own item, which is cut into strips.
  const SequenceLayout layout =
      layout_of({{.documents = {900}}, {.documents = {5}}, {.documents = {600}}}, 7);
  for (const std::int64_t d : {8, 64}) {
    for (const Order order : {Order::token_major_apart, Order::head_major}) {
      expect_right(GetParam(), {.layout = layout, .heads = 1, .head_dim = d, .order = order});
    }
  }
}

TEST_P(LongDocuments, OfTwentyThousandTokens_AreRight) {
  // [CLS] and the query are seen by so many rows that their sums are cut into portions.
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    expect_right_by_plan({.layout = one_document(11, 20'000 - 12), .heads = 1, .dtype = dtype});
  }
}

TEST(FusedDocuments, OfAMillionTokens_AreRight) {
  const AttentionCase problem{
      .layout = one_document(11, 1'000'000 - 12), .heads = 1, .head_dim = 8};
  const AttentionPlan plan = problem.plan();
  const Inputs inputs = problem.inputs();
  const KeysOf keys = keys_from_plan(plan);
  const BackwardCase backward{inputs, segment().forward(plan, inputs, {.order = 2}),
                              random_like(inputs.q, 7)};
  expect_near(backward.forward, reference(keys, inputs), "a million tokens");
  expect_near(segment().backward(plan, backward, {.order = 2}),
              reference_gradients(keys, exact(backward)), "a million tokens");
}

/// The largest workspace in addition to one tile per thread, in bytes.
std::int64_t most_partial_bytes(std::int64_t heads, std::int64_t shared_rows, std::int64_t d) {
  constexpr std::int64_t most_chunks = 64;
  return most_chunks * heads * shared_rows * 2 * (d + 16) * 4;
}

TEST(FusedDocuments, NeedNoMoreWorkspaceThanTheirChunks) {
  for (const std::string pattern : {"sparse", "longformer"}) {
    std::int64_t before = 0;
    for (const std::int64_t tokens : {100'000, 1'000'000, 10'000'000}) {
      const AttentionPlan plan =
          AttentionCase{.pattern = pattern, .layout = one_document(11, tokens - 12), .heads = 1}
              .plan();
      const std::int64_t forward = cpu::segment_workspace_bytes(plan, 8, 2);
      const std::int64_t backward = cpu::segment_backward_workspace_bytes(plan, 8, 2);
      EXPECT_LE(forward, 2'000'000) << pattern << tokens;
      EXPECT_LE(backward, 2'000'000 + most_partial_bytes(1, 2 * 12, 8)) << pattern << tokens;
      EXPECT_TRUE(before == 0 || backward == before) << pattern << " " << tokens;
      before = backward;
    }
  }
}

TEST(FusedDocuments, NeedWorkspaceInProportionToThreads) {
  const AttentionPlan plan = AttentionCase{.layout = one_document(11, 100'000)}.plan();
  const auto bytes = [&](int threads) {
    return cpu::segment_backward_workspace_bytes(plan, 32, threads);
  };
  EXPECT_EQ(bytes(3) - bytes(2), bytes(2) - bytes(1));
  EXPECT_LE(bytes(2) - bytes(1), 4'000'000);
}

// ---- offsets beyond 32 bits

/// 2^28 floats between tokens and 2^13 between tensors. Of the reserved gigabytes only the pages of
/// rows are touched.
constexpr std::int64_t token_stride = std::int64_t{1} << 28;
constexpr std::int64_t tensor_stride = std::int64_t{1} << 13;

class FarMemory {
 public:
  explicit FarMemory(std::int64_t tokens)
      : bytes_(static_cast<std::size_t>(tokens * token_stride * 4)),
        memory_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~FarMemory() {
    if (is_there()) munmap(memory_, bytes_);
  }
  FarMemory(const FarMemory&) = delete;
  FarMemory& operator=(const FarMemory&) = delete;

  [[nodiscard]] bool is_there() const { return memory_ != MAP_FAILED; }

  /// A tensor with the shape of `shape` in the next free memory.
  Tensor tensor(const Packed& shape) {
    return {static_cast<std::byte*>(memory_) + 4 * tensor_stride * taken_++,
            DType::float32,
            shape.head_dim,
            token_stride,
            shape.head_dim,
            0,
            0};
  }
  ConstTensor copy_of(const Packed& packed) {
    const Tensor far = tensor(packed);
    for (std::int64_t t = 0; t < packed.tokens; ++t) {
      for (std::int64_t h = 0; h < packed.heads; ++h) {
        std::memcpy(far.at<float>(t, h), packed.data.data() + packed.row(t, h),
                    static_cast<std::size_t>(packed.row_bytes()));
      }
    }
    return as_const(far);
  }

 private:
  std::size_t bytes_;
  void* memory_;
  std::int64_t taken_ = 0;
};

void expect_same(const Tensor& far, const Packed& packed, const std::string& what) {
  for (std::int64_t t = 0; t < packed.tokens; ++t) {
    for (std::int64_t h = 0; h < packed.heads; ++h) {
      ASSERT_EQ(0, std::memcmp(far.at<float>(t, h), packed.data.data() + packed.row(t, h),
                               static_cast<std::size_t>(packed.row_bytes())))
          << what << " token " << t;
    }
  }
}

TEST(RowsGigabytesApart, GiveTheSameOutputsAndGradients) {
  const AttentionCase problem{.window = Window::of(2),
                              .layout = layout_of({{.query = 3, .documents = {21}}})};
  const AttentionPlan plan = problem.plan();
  FarMemory memory(plan.tokens);
  if (!memory.is_there()) GTEST_SKIP() << "this machine reserves no 25 GiB of addresses";
  const Inputs in = problem.inputs();
  const Packed arriving = random_like(in.q, 7);
  const ConstTensor q = memory.copy_of(in.q), k = memory.copy_of(in.k), v = memory.copy_of(in.v);
  const Tensor o = memory.tensor(in.q);
  GradientTensors tensors{.q = q,
                          .k = k,
                          .v = v,
                          .o = as_const(o),
                          .lse = {},
                          .grad_o = memory.copy_of(arriving),
                          .grad_q = memory.tensor(in.q),
                          .grad_k = memory.tensor(in.q),
                          .grad_v = memory.tensor(in.q)};
  std::vector<float> lse(static_cast<std::size_t>(plan.tokens * plan.heads));
  tensors.lse = lse;
  const float scale = scale_of(problem.head_dim);
  for (const Subject& subject : subjects()) {
    const BackwardCase packed{in, subject.forward(plan, in, {}), arriving};
    const Gradients gradients = subject.backward(plan, packed, {});
    if (subject.recomputes) {
      GuardedWorkspace workspace(cpu::segment_backward_workspace_bytes(plan, 32, 1) +
                                 cpu::segment_workspace_bytes(plan, 32, 1));
      ASSERT_TRUE(cpu::segment_forward(plan, q, k, v, scale, o, lse, 1, workspace.bytes()));
      ASSERT_TRUE(cpu::segment_backward(plan, tensors, scale, 1, workspace.bytes()));
    } else {
      GuardedWorkspace scores(cpu::windowed_score_elements(plan) * 4);
      GuardedWorkspace workspace(cpu::windowed_backward_elements(plan, 32) * 4);
      ASSERT_TRUE(cpu::windowed_forward(plan, q, k, v, scale, o, lse, 1, scores.floats()));
      ASSERT_TRUE(
          cpu::windowed_backward(plan, tensors, scale, scores.floats(), 1, workspace.floats()));
    }
    expect_same(o, packed.forward.o, subject.name + " o");
    EXPECT_EQ(lse, packed.forward.lse) << subject.name;
    expect_same(tensors.grad_q, gradients.q, subject.name + " grad_q");
    expect_same(tensors.grad_k, gradients.k, subject.name + " grad_k");
    expect_same(tensors.grad_v, gradients.v, subject.name + " grad_v");
  }
}

}  // namespace
}  // namespace attnscope::testing
