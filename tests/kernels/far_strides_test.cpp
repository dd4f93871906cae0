// SPDX-License-Identifier: Apache-2.0
//
// Tensors whose rows lie gigabytes apart: offsets beyond 32 bits give the same bits as packed rows.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "kernels/cpu/segment.h"
#include "kernels/cpu/windowed.h"
#include "tests/kernels/gradient_case.h"

namespace attnscope::testing {
namespace {

/// 2^28 floats between tokens and 2^13 between tensors: of the gigabytes reserved only the pages
/// that hold a row are ever touched.
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

  /// A tensor of the shape of `shape` in the next free place.
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
        std::memcpy(far.at<float>(t, h), packed.view().at<float>(t, h),
                    static_cast<std::size_t>(packed.head_dim) * sizeof(float));
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
      for (std::int64_t x = 0; x < packed.head_dim; ++x) {
        ASSERT_EQ(far.at<float>(t, h)[x], packed.at(t, h, x)) << what << " token " << t;
      }
    }
  }
}

TEST(RowsGigabytesApart, GiveTheSameOutputsAndGradients) {
  const AttentionCase problem{
      .window = Window::of(2),
      .layout = *SequenceLayout::make({{.cls = 1, .query = 3, .documents = {21}}})};
  const AttentionPlan plan = problem.plan();
  FarMemory memory(plan.tokens);
  if (!memory.is_there()) GTEST_SKIP() << "this machine reserves no 25 GiB of addresses";
  const BackwardCase packed = backward_case(plan, random_inputs(problem));
  const Gradients gradients = run_backward(plan, packed);
  const Outputs windowed = run(Kernel::windowed, plan, packed.in, 1);

  const ConstTensor q = memory.copy_of(packed.in.q), k = memory.copy_of(packed.in.k),
                    v = memory.copy_of(packed.in.v), grad_o = memory.copy_of(packed.grad_o);
  const Tensor o = memory.tensor(packed.in.q), grad_q = memory.tensor(packed.in.q),
               grad_k = memory.tensor(packed.in.q), grad_v = memory.tensor(packed.in.q);
  std::vector<float> lse(packed.forward.lse.size());
  std::vector<float> scores(static_cast<std::size_t>(cpu::windowed_score_elements(plan)));
  ASSERT_TRUE(cpu::windowed_forward(plan, q, k, v, scale_of(32), o, lse, 1, scores));
  expect_same(o, windowed.o, "windowed o");
  std::vector<std::byte> workspace(
      static_cast<std::size_t>(cpu::segment_workspace_bytes(plan, 32, 1)));
  ASSERT_TRUE(cpu::segment_forward(plan, q, k, v, scale_of(32), o, lse, 1, workspace));
  expect_same(o, packed.forward.o, "segment o");
  EXPECT_EQ(lse, packed.forward.lse);
  workspace.resize(static_cast<std::size_t>(cpu::segment_backward_workspace_bytes(plan, 32, 1)));
  const GradientTensors tensors{.q = q,
                                .k = k,
                                .v = v,
                                .o = as_const(o),
                                .lse = lse,
                                .grad_o = grad_o,
                                .grad_q = grad_q,
                                .grad_k = grad_k,
                                .grad_v = grad_v};
  ASSERT_TRUE(cpu::segment_backward(plan, tensors, scale_of(32), 1, workspace));
  expect_same(grad_q, gradients.q, "grad_q");
  expect_same(grad_k, gradients.k, "grad_k");
  expect_same(grad_v, gradients.v, "grad_v");
}

}  // namespace
}  // namespace attnscope::testing
