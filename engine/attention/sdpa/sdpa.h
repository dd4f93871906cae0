#pragma once
// SPDX-License-Identifier: Apache-2.0

#include "engine/attention/implementation.h"

namespace attnscope {

[[nodiscard]] const Implementation& sdpa_implementation();

}  // namespace attnscope
