#pragma once
// SPDX-License-Identifier: Apache-2.0

#include "engine/attention/implementation.h"

namespace attnscope::example {

[[nodiscard]] std::vector<Implementation> naive_rows_implementations();

}  // namespace attnscope::example
