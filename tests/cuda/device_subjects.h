#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The CUDA kernels as subjects (tests/kernels/subject.h), in the memory of device_memory.h: on a
// GPU and in the emulation.

#include <string>
#include <vector>

#include "kernels/cuda/segment.h"
#include "tests/cuda/device_memory.h"
#include "tests/kernels/products.h"
#include "tests/kernels/subject.h"

namespace attnscope::testing {

/// segment and windowed.
[[nodiscard]] const std::vector<Subject>& device_subjects();

/// segment with a variant of the walks.
[[nodiscard]] Subject segment_subject(const std::string& name, const cuda::WalkCut& cut);

[[nodiscard]] const ProductSubject& device_product_subject();

/// Operands of a backward pass in device memory, and its results.
struct DeviceGradients {
  explicit DeviceGradients(const BackwardCase& problem);
  [[nodiscard]] GradientTensors tensors() const;
  [[nodiscard]] Gradients read_back() const;

  DeviceTensor q, k, v, o, grad_o, grad_q, grad_k, grad_v;
  DeviceMemory lse;
  std::size_t rows;
};

/// The results of segment_forward, or its error, for work that comes from no plan.
[[nodiscard]] Result<Outputs> run_segment_forward(const cuda::SegmentWork& work,
                                                  const Inputs& inputs, const Call& call);

}  // namespace attnscope::testing
