#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What only the build knows of LibTorch and CUDA: cuda_runtime_libtorch.cpp where both are there,
// cuda_runtime_absent.cpp elsewhere.

#include "engine/attention/cuda_runtime.h"

namespace attnscope::cuda {

[[nodiscard]] LibTorchCuda libtorch_cuda();

}  // namespace attnscope::cuda
