#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What stands for cuBLASLt on the host: column-major strided-batched products with the meaning that
// its documentation gives them, on memory of device_memory.h. Each factor it reads must have been
// written, each address be as aligned as the choice of the algorithm was told.
//
//   DenseAttention::prepare(problem, host_cublaslt());

#include "kernels/cuda/dense/cublaslt.h"

namespace attnscope::on_host {

[[nodiscard]] const cuda::CublasLt& host_cublaslt();

/// Handles, descriptors and preferences that are not destroyed.
[[nodiscard]] int live_cublaslt_objects();
/// Calls of cublasLtMatmul so far.
[[nodiscard]] int cublaslt_products();

/// Scratch that every algorithm asks for.
inline constexpr std::size_t cublaslt_workspace_bytes = 512;

}  // namespace attnscope::on_host
