#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// LibTorch's flash kernel for CUDA with its own window, behind the interface of a part.

#include "engine/attention/flash_window/part_kernel.h"

namespace attnscope {

[[nodiscard]] const PartKernel& flash_part_kernel();

}  // namespace attnscope
