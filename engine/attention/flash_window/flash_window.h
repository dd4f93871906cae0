#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The problems that flash-window supports: those its part kernel supports, with plans that consist
// of such parts.

#include "engine/attention/implementation.h"
#include "engine/attention/sdpa/sdpa.h"

namespace attnscope {

/// Ok, or a sentence why not. `device` is ignored on the CPU.
[[nodiscard]] Status flash_window_supports(const Problem& problem, const SdpaDevice& device);

}  // namespace attnscope
