#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What flash-window takes: what the kernel of its parts takes, and plans that are made of such
// parts.

#include "engine/attention/implementation.h"
#include "engine/attention/sdpa/sdpa.h"

namespace attnscope {

/// Ok, or the sentence why not. `device` is not looked at on the CPU.
[[nodiscard]] Status flash_window_takes(const Problem& problem, const SdpaDevice& device);

}  // namespace attnscope
