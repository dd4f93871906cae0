#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The windowed products and the three steps around them, run in the emulation: operands are copied
// to device memory of exactly their size, results come back.

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cuda/windowed.h"
#include "tests/cuda_on_host/device_memory.h"
#include "tests/cuda_on_host/device_tensor.h"
#include "tests/kernels/attention_case.h"
#include "tests/kernels/gradient_case.h"

namespace attnscope::testing {

/// A work list in device memory and the workspace that it asks for, which nothing has written.
class DeviceWork {
 public:
  explicit DeviceWork(Result<cuda::WindowedWork> work);

  [[nodiscard]] const cuda::WindowedWork& work() const { return work_; }
  [[nodiscard]] cuda::WindowedMemory memory() const {
    return {.list = list_.data(), .workspace = workspace_.data()};
  }
  [[nodiscard]] on_host::DeviceArray<float> scores() const {
    return {"scores", work_.score_elements()};
  }

 private:
  cuda::WindowedWork work_;
  on_host::DeviceArray<std::byte> list_, workspace_;
};

/// windowed_forward on outputs filled with NaN.
[[nodiscard]] Outputs run_cuda_windowed(const AttentionPlan& plan, const Inputs& inputs);

/// windowed_forward, then windowed_backward on the weights it left.
[[nodiscard]] Gradients run_cuda_windowed_backward(const AttentionPlan& plan, const Inputs& inputs,
                                                   const Packed& grad_o);

/// Both directions against the float64 reference.
void expect_cuda_windowed_right(const AttentionPlan& plan, const Inputs& inputs, const KeysOf& keys,
                                const std::string& what);
void expect_cuda_windowed_right(const AttentionCase& problem);

}  // namespace attnscope::testing
