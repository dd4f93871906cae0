#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a measurement sets in LibTorch's runtime, and what it reports of it.

#include <string>

namespace attnscope::measure {

/// Threads of LibTorch and of the kernels' OpenMP regions, for the calling thread's later calls.
void set_threads(int threads);

[[nodiscard]] std::string libtorch_version();        // "2.15.0"
[[nodiscard]] std::string libtorch_parallel_info();  // several lines, as LibTorch words it
[[nodiscard]] std::string libtorch_config();         // likewise: how it was built, and with what
[[nodiscard]] std::string blas_version();            // "Intel(R) oneAPI Math Kernel Library ..."
[[nodiscard]] std::string onednn_version();
[[nodiscard]] std::string libtorch_instruction_set();  // that its own kernels run with: "AVX512"

}  // namespace attnscope::measure
