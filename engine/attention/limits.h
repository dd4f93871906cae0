#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What no implementation of this build can do here, said in one place.

#include <string_view>

#include "engine/attention/implementation.h"

namespace attnscope {

/// Ok, or why `id` declines the problem's device or operation `model`.
[[nodiscard]] Status within_build_limits(const Problem& problem, std::string_view id);

}  // namespace attnscope
