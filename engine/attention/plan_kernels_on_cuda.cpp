// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/attention/cuda_runtime.h"
#include "engine/attention/plan_kernels.h"
#include "kernels/cuda/segment.h"
#include "kernels/cuda/windowed.h"

namespace attnscope::cuda {
namespace {

Result<SegmentWork> divide(const AttentionPlan& plan, const ConstTensor& q,
                           std::type_identity<SegmentWork>) {
  return segment_work(plan, q.head_dim, q.dtype, Passes::forward_backward,
                      {.processors = multiprocessors()});
}
Result<WindowedWork> divide(const AttentionPlan& plan, const ConstTensor& q,
                            std::type_identity<WindowedWork>) {
  return windowed_work(plan, q.head_dim, q.dtype, Passes::forward_backward);
}

/// A plan divided for one kernel, and the list of it on the device.
template <typename Work>
struct Divided {
  explicit Divided(Work work_in) : work(std::move(work_in)), list(work.list()) {}
  Work work;
  ListOnDevice list;
};

/// Divided plans by plan, while it exists, and by the other parameters. A list is released in the
/// order of the stream on which it was made, so the stream is one of them; the default streams of
/// all devices are equal.
template <typename Work>
class DividedPlans {
 public:
  std::shared_ptr<Divided<Work>> of(const SharedPlan& plan, const ConstTensor& q) {
    const Result<int> device = current_device();
    if (!device) require(tl::unexpected(device.error()));
    const Key key{*device, current_stream(), q.head_dim, q.dtype};
    const std::lock_guard lock(mutex_);
    std::erase_if(kept_, [](const Kept& entry) { return entry.plan.expired(); });
    for (const Kept& entry : kept_) {
      if (entry.key == key && entry.plan.lock() == plan) return entry.divided;
    }
    Result<Work> work = divide(*plan, q, std::type_identity<Work>());
    if (!work) require(tl::unexpected(work.error()));
    auto divided = std::make_shared<Divided<Work>>(std::move(*work));
    static_cast<void>(divided->list.data());
    kept_.push_back({plan, key, divided});
    return divided;
  }

 private:
  struct Key {
    int device;
    Stream stream;
    std::int64_t head_dim;
    DType dtype;
    bool operator==(const Key&) const = default;
  };
  struct Kept {
    std::weak_ptr<const AttentionPlan> plan;
    Key key;
    std::shared_ptr<Divided<Work>> divided;
  };
  std::mutex mutex_;
  std::vector<Kept> kept_;
};

/// Never destroyed: LibTorch's allocator may be destroyed earlier.
template <typename Work>
std::shared_ptr<Divided<Work>> divided(const SharedPlan& plan, const ConstTensor& q) {
  static auto* const all = new DividedPlans<Work>;
  return all->of(plan, q);
}

/// Runs a call of segment attention with its list and its own workspace.
template <typename Call>
void with_segments(const SharedPlan& plan, const ConstTensor& q, const Call& call) {
  const auto prepared = divided<SegmentWork>(plan, q);
  const std::int64_t bytes = prepared->work.workspace_bytes();
  const Block workspace = bytes > 0 ? Block(bytes) : Block();
  require(call(prepared->work,
               SegmentMemory{.list = prepared->list.data(), .workspace = workspace.data()}));
}

}  // namespace

void segment_forward(const SharedPlan& plan, const PlanOperands& operands, float scale,
                     float* lse) {
  with_segments(plan, operands.q, [&](const SegmentWork& work, const SegmentMemory& memory) {
    return segment_forward(work, memory, operands.q, operands.k, operands.v, scale, operands.o, lse,
                           current_stream());
  });
}

void segment_backward(const SharedPlan& plan, const GradientTensors& tensors, float scale) {
  with_segments(plan, tensors.q, [&](const SegmentWork& work, const SegmentMemory& memory) {
    return segment_backward(work, memory, tensors, scale, current_stream());
  });
}

void windowed_forward(const SharedPlan& plan, const PlanOperands& operands, float scale,
                      float* weights) {
  const auto prepared = divided<WindowedWork>(plan, operands.q);
  require(windowed_forward(prepared->work, prepared->list.data(), operands.q, operands.k,
                           operands.v, scale, operands.o, /*lse=*/nullptr, weights,
                           current_stream()));
}

void windowed_backward(const SharedPlan& plan, const GradientTensors& tensors, float scale,
                       const float* weights) {
  const auto prepared = divided<WindowedWork>(plan, tensors.q);
  const Block grad_scores(prepared->work.score_elements() *
                          static_cast<std::int64_t>(sizeof(float)));
  require(windowed_backward(prepared->work, prepared->list.data(), tensors, scale, weights,
                            reinterpret_cast<float*>(grad_scores.data()), current_stream()));
}

}  // namespace attnscope::cuda
