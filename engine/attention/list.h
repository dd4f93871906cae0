#pragma once
// SPDX-License-Identifier: Apache-2.0

#include <span>
#include <string_view>

#include "engine/attention/implementation.h"

namespace attnscope {

/// Every implementation of this build, one line each in list.inc, in display order.
[[nodiscard]] std::span<const Implementation* const> implementations();

/// nullptr when there is none of that id.
[[nodiscard]] const Implementation* find_implementation(std::string_view id);

}  // namespace attnscope
