// SPDX-License-Identifier: Apache-2.0
//
// The predicted peak memory of the implementations, compared with the peak that a counting
// allocator measures.

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "engine/attention/flash_window/assembled_attention.h"
#include "tests/attention/small_problem.h"

namespace attnscope {
namespace {

using tests::item;
using tests::SmallProblem;

class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    void* data = c10::GetDefaultCPUAllocator()->raw_allocate(bytes);
    const std::lock_guard lock(mutex_);
    sizes_[data] = bytes;
    live_ += static_cast<std::int64_t>(bytes);
    peak_ = std::max(peak_, live_);
    return {data, data, &release, at::Device(at::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* target, const void* source, std::size_t bytes) const override {
    default_copy_data(target, source, bytes);
  }

  /// Restarts the count.
  void restart() { peak_ = live_ = 0; }
  std::int64_t peak() const { return peak_; }

  static CountingAllocator& instance() {
    static CountingAllocator allocator;
    return allocator;
  }

 private:
  static void release(void* data) {
    CountingAllocator& self = instance();
    {
      const std::lock_guard lock(self.mutex_);
      const auto found = self.sizes_.find(data);
      if (found != self.sizes_.end()) {
        self.live_ -= static_cast<std::int64_t>(found->second);
        self.sizes_.erase(found);
      }
    }
    c10::GetDefaultCPUAllocator()->raw_deallocate(data);
  }

  std::mutex mutex_;
  std::unordered_map<void*, std::size_t> sizes_;
  std::int64_t live_ = 0;
  std::int64_t peak_ = 0;
};

struct Peaks {
  std::int64_t predicted = 0;
  std::int64_t measured = 0;
};

/// The first call of each pass, including its workspace.
Peaks measure(PreparedAttention& prepared, const Problem& problem) {
  tests::CallMemory tensors(problem);
  CountingAllocator& counting = CountingAllocator::instance();
  c10::SetCPUAllocator(&counting, 127);
  counting.restart();
  const at::Tensor memory =
      at::empty({prepared.workspace_bytes()}, at::TensorOptions().dtype(at::kByte));
  const std::span<std::byte> workspace(static_cast<std::byte*>(memory.data_ptr()),
                                       static_cast<std::size_t>(memory.numel()));
  EXPECT_TRUE(prepared.forward(tensors.forward(workspace)));
  if (problem.direction == Direction::forward_backward) {
    EXPECT_TRUE(prepared.backward(tensors.backward(workspace)));
  }
  return {prepared.predicted_peak_bytes(), counting.peak()};
}

const std::vector<SequenceLayout>& layouts() {
  static const std::vector<SequenceLayout> all{
      SequenceLayout::uniform(1, item(1, 11, 500)),
      SequenceLayout::uniform(3, item(1, 11, 300)),
      SequenceLayout::make({item(1, 11, 100), item(1, 11, 400)}).value(),
      SequenceLayout::make({item(1, 0, 100), item(1, 0, 400)}, 11).value(),
      SequenceLayout::uniform(1, item(1, 11, 988)),
  };
  return all;
}

class PredictedPeak : public ::testing::TestWithParam<std::tuple<MemoryOrder, DType, Direction>> {
 protected:
  /// Null if the pattern does not support the layout.
  std::unique_ptr<SmallProblem> problem(const char* pattern, const SequenceLayout& layout) const {
    if (layout.shares_query() && std::string_view(pattern) != "sparse" &&
        std::string_view(pattern) != "chunks") {
      return nullptr;
    }
    auto small = std::make_unique<SmallProblem>(pattern, Window::of(4), layout, 4, 32);
    small->problem.memory_order = std::get<0>(GetParam());
    small->problem.dtype = std::get<1>(GetParam());
    small->problem.direction = std::get<2>(GetParam());
    small->problem.threads = 2;
    return small;
  }

  /// The memory of libraries for 16-bit products differs between processors.
  static void expect_near(const Peaks& peaks, std::int64_t libraries) {
    EXPECT_LE(peaks.measured, peaks.predicted + 4096);
    EXPECT_LE(peaks.predicted, 2 * peaks.measured + libraries);
  }
};

TEST_P(PredictedPeak, IsACloseUpperBound) {
  for (const SequenceLayout& layout : layouts()) {
    for (const char* pattern : {"full", "sparse", "longformer", "qds", "bigbird", "chunks"}) {
      const auto small = problem(pattern, layout);
      if (!small) continue;
      for (const Implementation* implementation : implementations()) {
        if (!implementation->supports(small->problem)) continue;
        SCOPED_TRACE(
            fmt::format("{} of {} on {}", implementation->id, pattern, layout_json(layout)));
        const auto prepared = implementation->prepare(small->problem).value();
        expect_near(measure(*prepared, small->problem), 9'000'000);
      }
    }
  }
}

/// Allocates the memory of the flash kernel and computes nothing.
class IdleKernel final : public PartKernel {
 public:
  PartResult forward(const PartOperands& part) const override {
    const bool even = part.q.dim() == 4;
    const std::vector<std::int64_t> numbers =
        even ? std::vector{part.q.size(0), part.q.size(2), part.q.size(1)}
             : std::vector{part.q.size(1), part.q.size(0)};
    return {.o = at::zeros(part.q.sizes(), part.q.options()), .lse = at::zeros(numbers)};
  }
  PartGradients backward(const PartOperands& part, const at::Tensor& grad_o,
                         const PartResult& whole) const override {
    const at::Tensor arriving = grad_o.contiguous();
    const at::Tensor o = whole.o.contiguous();
    const at::Tensor sums = at::empty({part.q.numel() / 32 * 33});  // in float32, of each row
    return {.q = at::zeros(part.q.sizes(), part.q.options()),
            .k = at::zeros(part.k.sizes(), part.k.options()),
            .v = at::zeros(part.v.sizes(), part.v.options())};
  }
};

TEST_P(PredictedPeak, OfAssembledPartsIsACloseUpperBound) {
  const IdleKernel kernel;
  for (const SequenceLayout& layout : layouts()) {
    for (const char* pattern : {"longformer", "sparse"}) {
      const auto small = problem(pattern, layout);
      if (!small) continue;
      SCOPED_TRACE(fmt::format("{} on {}", pattern, layout_json(layout)));
      const auto prepared =
          prepare_assembled(small->problem, parts_of(small->problem).value(), kernel);
      expect_near(measure(*prepared, small->problem), 500'000);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    OrdersAndDtypes, PredictedPeak,
    ::testing::Combine(::testing::Values(MemoryOrder::head_major, MemoryOrder::token_major),
                       ::testing::Values(DType::float32, DType::bfloat16),
                       ::testing::Values(Direction::forward, Direction::forward_backward)));

}  // namespace
}  // namespace attnscope
