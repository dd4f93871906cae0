#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What stands for cuBLASLt on the host: column-major strided-batched products with the meaning that
// its documentation gives them, on memory of device_memory.h. Each factor it reads must have been
// written, each address be as aligned as the choice of the algorithm was told. The times of its
// products, which device_time_ns tells here, are made up.
//
//   DenseAttention::prepare(problem, host_cublaslt());

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/dense/cublaslt.h"

namespace attnscope::on_host {

[[nodiscard]] const cuda::CublasLt& host_cublaslt();

/// Handles, descriptors and preferences that are not destroyed.
[[nodiscard]] int live_cublaslt_objects();
/// What the heuristics find, in their order. All that work give the same results.
enum class CublasLtAlgorithm : std::uint8_t {
  slow,
  broken,     // whose product is declined
  unfit,      // whose state says that it must not be taken
  fast,       // in a fifth of the time of `slow`
  greedy,     // in no time, with more scratch than the first
  unhurried,  // in two thirds
};

/// Calls of cublasLtMatmul so far.
[[nodiscard]] int cublaslt_products();
[[nodiscard]] int cublaslt_products(CublasLtAlgorithm by);

/// Scratch that the first algorithm asks for; `fast` asks for half of it, `greedy` for twice as
/// much.
inline constexpr std::size_t cublaslt_workspace_bytes = 512;

}  // namespace attnscope::on_host
