#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The band's passes on CUDA: each is one launch over all tasks of the batch. A call allocates
// nothing and waits for nothing; all memory is on the device.
//
//   Result<BandOnCuda> band = BandOnCuda::make(plan, head_dim, Passes::forward_backward);
//   copy(band->list(), list_on_device);
//   band->forward({list_on_device, workspace, scale, Weighting::softmax, stream}, q, k, v, o, lse);
//   band->backward({...}, gradients);

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/result.h"
#include "engine/attention/longformer_banded/kernels.h"
#include "engine/attention/longformer_banded/plan_lists.h"
#include "kernels/cuda/devices.h"
#include "kernels/plan/tensor.h"

namespace attnscope::longformer_banded {

struct DeviceCall {
  const std::byte* list = nullptr;  // a copy of list()
  float* workspace = nullptr;       // workspace_floats()
  float scale = 1.0F;
  Weighting weighting = Weighting::softmax;
  cuda::Stream stream = nullptr;
};

class BandOnCuda {
 public:
  [[nodiscard]] static Result<BandOnCuda> make(const AttentionPlan& plan, std::int64_t head_dim,
                                               Passes passes);

  [[nodiscard]] std::span<const std::byte> list() const { return lists_.bytes(); }
  /// Size of the band and, for a backward pass, of one number per row.
  [[nodiscard]] std::int64_t workspace_floats() const;

  /// Stores the weights in the workspace. `lse` [tokens, heads] may be null, and is written only
  /// with a softmax.
  [[nodiscard]] Status forward(const DeviceCall& call, const ConstTensor& q, const ConstTensor& k,
                               const ConstTensor& v, const Tensor& o, float* lse) const;
  /// Reads the weights stored by forward and replaces them with the scores' gradients.
  [[nodiscard]] Status backward(const DeviceCall& call, const GradientTensors& tensors) const;

 private:
  BandOnCuda(const AttentionPlan& plan, DeviceLists lists, Passes passes)
      : tokens_(plan.tokens), heads_(plan.heads), lists_(std::move(lists)), passes_(passes) {}

  [[nodiscard]] BandArguments arguments(const DeviceCall& call, const ConstTensor& like) const;
  [[nodiscard]] View view(const ConstTensor& tensor) const;
  [[nodiscard]] View view(const Tensor& tensor) const { return view(attnscope::as_const(tensor)); }
  [[nodiscard]] float* row_dots(const DeviceCall& call) const {
    return call.workspace + lists_.score_count();
  }

  std::int64_t tokens_;
  std::int32_t heads_;
  DeviceLists lists_;
  Passes passes_;
};

}  // namespace attnscope::longformer_banded
