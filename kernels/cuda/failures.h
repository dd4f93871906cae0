#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Error messages for CUDA, outside the .cu files: nvcc cannot compile fmt's checked format strings
// in C++20.

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace attnscope::cuda {

[[nodiscard]] Status failed_call(const char* call, const char* file, int line, const char* text,
                                 const char* name);

[[nodiscard]] Status no_memory_for(std::string_view operation, std::string_view what,
                                   std::int64_t floats);

/// The error of `what`, which synchronises or allocates, on a stream that is being captured.
[[nodiscard]] Status refused_capture(const char* what);

[[nodiscard]] Status too_many_blocks(const char* name, std::int64_t blocks, std::int64_t most);

}  // namespace attnscope::cuda
