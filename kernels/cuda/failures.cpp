// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/failures.h"

namespace attnscope::cuda {

Status failed_call(const char* call, const char* file, int line, const char* text,
                   const char* name) {
  return fail("CUDA: {} failed at {}:{}: {} ({})", call, file, line, text, name);
}

Status no_memory_for(std::string_view operation, std::string_view what, std::int64_t floats) {
  return fail("{}: {} has no memory for its {} floats", operation, what, floats);
}

Status refused_capture(const char* what) {
  return fail("CUDA: {} cannot be captured into a graph; make one call before the capture", what);
}

Status too_many_blocks(const char* name, std::int64_t blocks, std::int64_t most) {
  return fail("CUDA: {} needs {} thread blocks, and a launch has at most {}; use a smaller batch",
              name, blocks, most);
}

}  // namespace attnscope::cuda
