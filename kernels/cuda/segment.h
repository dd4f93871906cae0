#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Fused segment attention on CUDA, the counterpart of kernels/cpu/segment.h: the whole plan, all
// items and heads, in a few launches. Nothing here allocates device memory or synchronises; the
// current device is used, and all work is queued on the caller's stream.
//
//   Result<SegmentWork> work = segment_work(plan, head_dim, dtype, Passes::forward);
//   copy work->list() to device memory `list`, once a plan
//   Status queued = segment_forward(*work, {list, workspace}, q, k, v, scale, o, lse, stream);
//
// q, k, v, o and lse are in device memory; head dimension 8 to 256; float32 (fused multiply-adds)
// or float16 and bfloat16 (tensor cores, for walks); sums are float32 for all three.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "kernels/cuda/devices.h"
#include "kernels/cuda/work_list.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/counts.h"
#include "kernels/plan/tensor.h"

namespace attnscope::cuda {

/// A plan divided into units for the plain kernels (kernels/cuda/work_list.h), which support any
/// plan, and, if its windows allow it, also into walks (kernels/cuda/work_list.h); as bytes for the
/// device.
class SegmentWork {
 public:
  SegmentWork(std::shared_ptr<const WorkList> list, std::int64_t head_dim, DType dtype,
              std::shared_ptr<const Walks> walks = nullptr);

  /// The bytes to copy to device memory, aligned to 256 bytes, before the first call.
  [[nodiscard]] std::span<const std::byte> list() const;
  /// Device workspace of a call; calls that share it must be ordered on one stream.
  [[nodiscard]] std::int64_t workspace_bytes() const;

  [[nodiscard]] const WorkList& work() const { return *work_; }
  /// Null if there are none.
  [[nodiscard]] const Walks* walks() const { return walks_.get(); }
  /// Offsets in list() of the lists of walks, and of the remaining units.
  struct Places {
    std::int64_t rest = 0, rows = 0, keys = 0;
  };
  [[nodiscard]] const Places& places() const { return places_; }
  /// For each list of walks: twice the tokens of an item in the last call whose tensors were split
  /// into items, plus 1 if walks support them; 0: none yet.
  struct Layouts {
    std::atomic<std::int64_t> rows = 0, keys = 0;
  };
  [[nodiscard]] Layouts& layouts() const { return *layouts_; }
  [[nodiscard]] std::int64_t head_dim() const { return head_dim_; }
  [[nodiscard]] DType dtype() const { return dtype_; }

 private:
  std::shared_ptr<const WorkList> work_;
  std::shared_ptr<const Walks> walks_;
  std::shared_ptr<const std::vector<std::byte>> bytes_;
  std::shared_ptr<Layouts> layouts_ = std::make_shared<Layouts>();
  Places places_;
  std::int64_t head_dim_;
  DType dtype_;
};

/// Device memory of a call.
struct SegmentMemory {
  const std::byte* list = nullptr;  // a copy of SegmentWork::list()
  std::byte* workspace = nullptr;   // aligned to 16 bytes
};

/// Ok, or why the fused kernels cannot run this plan.
[[nodiscard]] Status segment_supports(const AttentionPlan& plan, std::int64_t head_dim);

/// Divides the plan on the host: O(tokens / 16 + segments). Passes::forward supports
/// segment_forward, Passes::forward_backward supports both passes.
[[nodiscard]] Result<SegmentWork> segment_work(const AttentionPlan& plan, std::int64_t head_dim,
                                               DType dtype, Passes passes, const WalkCut& cut = {});

/// o = softmax(scale * q k^T over the plan's pairs) v, like cpu::segment_forward. `lse` [tokens,
/// heads], in device memory, may be nullptr. Results do not depend on the order of blocks. Walks
/// are used if all rows begin and end at multiples of 16 bytes and no window crosses items.
[[nodiscard]] Status segment_forward(const SegmentWork& work, const SegmentMemory& memory,
                                     const ConstTensor& q, const ConstTensor& k,
                                     const ConstTensor& v, float scale, const Tensor& o, float* lse,
                                     Stream stream);

/// The gradients of segment_forward (kernels/plan/tensor.h; all spans and tensors are in device
/// memory). Two launches, or up to eight with walks; deterministic, no floating-point atomics.
[[nodiscard]] Status segment_backward(const SegmentWork& work, const SegmentMemory& memory,
                                      const GradientTensors& tensors, float scale, Stream stream);

}  // namespace attnscope::cuda
