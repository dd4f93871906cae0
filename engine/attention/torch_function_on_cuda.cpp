// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/empty.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

#include "engine/attention/cuda_call.h"
#include "engine/attention/cuda_runtime.h"
#include "engine/attention/plan_kernels.h"
#include "engine/attention/torch_tensors.h"
#include "kernels/cuda/operands.h"
#include "kernels/cuda/segment.h"
#include "kernels/cuda/windowed.h"

namespace attnscope {
namespace {

/// A plan prepared for one kernel, on the device.
template <typename Work>
struct Cut {
  explicit Cut(Work work_in) : work(std::move(work_in)), list(work.list()) {
    if constexpr (requires { work.workspace_bytes(); }) {
      if (work.workspace_bytes() > 0) workspace = cuda::Block(work.workspace_bytes());
    }
  }
  Work work;
  cuda::DeviceList list;  // of work
  cuda::Block workspace;
};

/// A captured graph would copy from host memory that is freed before the graph runs.
void refuse_capture(cuda::Stream stream) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  ATTNSCOPE_CUDA_OR_THROW(cudaStreamIsCapturing(stream, &capture));
  if (capture == cudaStreamCaptureStatusNone) return;
  require(cuda::refused_capture("the first call of a plan, which copies its work list,"));
}

/// Prepared plans by plan, while it exists, and by the other parameters. Calls that share a
/// workspace must be ordered on one stream, so the stream is part of the key; the default streams
/// of all devices are equal.
template <typename Work>
class Cuts {
 public:
  template <typename Make>
  std::shared_ptr<Cut<Work>> of(const SharedPlan& plan, std::int64_t head_dim, DType dtype,
                                const Make& make) {
    const cuda::Stream stream = cuda::current_stream();
    int device = 0;
    ATTNSCOPE_CUDA_OR_THROW(cudaGetDevice(&device));
    const std::lock_guard lock(mutex_);
    std::erase_if(kept_, [](const Kept& entry) { return entry.plan.expired(); });
    for (const Kept& entry : kept_) {
      if (entry.plan.lock() == plan && entry.head_dim == head_dim && entry.dtype == dtype &&
          entry.device == device && entry.stream == stream) {
        return entry.cut;
      }
    }
    refuse_capture(stream);
    kept_.push_back({plan, head_dim, dtype, device, stream, make()});
    return kept_.back().cut;
  }

 private:
  struct Kept {
    std::weak_ptr<const AttentionPlan> plan;
    std::int64_t head_dim;
    DType dtype;
    int device;
    cuda::Stream stream;
    std::shared_ptr<Cut<Work>> cut;
  };
  std::mutex mutex_;
  std::vector<Kept> kept_;
};

/// Never destroyed: LibTorch's allocator may be destroyed earlier.
template <typename Work>
Cuts<Work>& cuts() {
  static auto* const all = new Cuts<Work>;
  return *all;
}

std::shared_ptr<Cut<cuda::SegmentWork>> segment_cut(const SharedPlan& plan, std::int64_t head_dim,
                                                    DType dtype) {
  return cuts<cuda::SegmentWork>().of(plan, head_dim, dtype, [&] {
    auto work = cuda::segment_work(*plan, head_dim, dtype, Passes::forward_backward);
    if (!work) throw std::invalid_argument(work.error().message);
    return std::make_shared<Cut<cuda::SegmentWork>>(std::move(*work));
  });
}

std::shared_ptr<Cut<cuda::WindowedWork>> windowed_cut(const SharedPlan& plan, std::int64_t head_dim,
                                                      DType dtype) {
  return cuts<cuda::WindowedWork>().of(plan, head_dim, dtype, [&] {
    auto work = cuda::windowed_work(*plan, head_dim, dtype, Passes::forward_backward);
    if (!work) throw std::invalid_argument(work.error().message);
    return std::make_shared<Cut<cuda::WindowedWork>>(std::move(*work));
  });
}

cuda::SegmentMemory memory_of(Cut<cuda::SegmentWork>& cut) {
  return {.list = cut.list.data(), .workspace = cut.workspace.data()};
}

at::Tensor floats(std::int64_t count) {
  return at::empty({count},
                   at::TensorOptions().dtype(at::kFloat).device(torch_device(DeviceKind::cuda)));
}

at::Tensor segment_forward(const SharedPlan& plan, const PlanOperands& operands, float scale) {
  const auto cut = segment_cut(plan, operands.q.head_dim, operands.q.dtype);
  at::Tensor lse = floats(plan->tokens * plan->heads);
  require(cuda::segment_forward(cut->work, memory_of(*cut), operands.q, operands.k, operands.v,
                                scale, operands.o, lse.data_ptr<float>(), cuda::current_stream()));
  return lse;
}

void segment_backward(const SharedPlan& plan, GradientTensors tensors, float scale,
                      const at::Tensor& lse) {
  tensors.lse = {lse.data_ptr<float>(), static_cast<std::size_t>(lse.numel())};
  const auto cut = segment_cut(plan, tensors.q.head_dim, tensors.q.dtype);
  require(
      cuda::segment_backward(cut->work, memory_of(*cut), tensors, scale, cuda::current_stream()));
}

at::Tensor windowed_forward(const SharedPlan& plan, const PlanOperands& operands, float scale) {
  const auto cut = windowed_cut(plan, operands.q.head_dim, operands.q.dtype);
  at::Tensor weights = floats(cut->work.score_elements());
  require(cuda::windowed_forward(cut->work, cut->list.data(), operands.q, operands.k, operands.v,
                                 scale, operands.o, /*lse=*/nullptr, weights.data_ptr<float>(),
                                 cuda::current_stream()));
  return weights;
}

void windowed_backward(const SharedPlan& plan, GradientTensors tensors, float scale,
                       const at::Tensor& weights) {
  const auto cut = windowed_cut(plan, tensors.q.head_dim, tensors.q.dtype);
  const at::Tensor grad_scores = floats(cut->work.score_elements());
  require(cuda::windowed_backward(cut->work, cut->list.data(), tensors, scale,
                                  weights.data_ptr<float>(), grad_scores.data_ptr<float>(),
                                  cuda::current_stream()));
}

}  // namespace

PlanKernels segment_kernels_on_cuda() {
  return {cuda::segment_supports, segment_forward, segment_backward};
}

PlanKernels windowed_kernels_on_cuda() {
  return {cuda::windowed_supports, windowed_forward, windowed_backward};
}

}  // namespace attnscope
