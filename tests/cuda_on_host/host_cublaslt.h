#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Replaces cuBLASLt on the host: column-major strided-batched products as documented by NVIDIA, on
// memory of device_memory.h. Factors must have been written, and addresses must have the alignment
// with which the algorithm was selected. The times of products, which device_time_ns returns here,
// are invented.
//
//   DenseAttention::prepare(problem, host_cublaslt());

#include <array>
#include <cstddef>

#include "kernels/cuda/dense/cublaslt.h"

namespace attnscope::on_host {

[[nodiscard]] const cuda::CublasLt& host_cublaslt();

/// Descriptors and preferences that are not destroyed.
[[nodiscard]] int live_cublaslt_objects();
[[nodiscard]] int cublaslt_handles_made();
/// The algorithms that the heuristics return, in this order. Those that work give the same results.
enum CublasLtAlgorithm : std::size_t {
  slow,
  broken,     // its product fails
  unfit,      // its state marks it as unusable
  fast,       // a fifth of the time of `slow`
  greedy,     // no time, but more scratch than the first
  unhurried,  // two thirds
  cublaslt_algorithms,
};

/// Calls of cublasLtMatmul so far, by algorithm.
using CublasLtProducts = std::array<int, cublaslt_algorithms>;
[[nodiscard]] const CublasLtProducts& cublaslt_products();

/// Scratch memory that the first algorithm needs; `fast` needs half of it, `greedy` twice as much.
inline constexpr std::size_t cublaslt_workspace_bytes = 512;

}  // namespace attnscope::on_host
