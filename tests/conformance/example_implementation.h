#pragma once
// SPDX-License-Identifier: Apache-2.0

#include "engine/attention/implementation.h"

namespace attnscope::example {

[[nodiscard]] const Implementation& naive_rows_implementation();

}  // namespace attnscope::example
