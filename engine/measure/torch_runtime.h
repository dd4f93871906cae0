#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The two things of LibTorch's runtime that a measurement sets and reports.

#include <string>

namespace attnscope::measure {

/// Threads of LibTorch and of the kernels' OpenMP regions, for the calling thread's later calls.
void set_threads(int threads);

[[nodiscard]] std::string libtorch_version();        // "2.15.0"
[[nodiscard]] std::string libtorch_parallel_info();  // several lines, as LibTorch words it

}  // namespace attnscope::measure
