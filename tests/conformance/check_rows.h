#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the conformance check says of a device, for the tests to look at.

#include <string>
#include <vector>

#include "engine/attention/check.h"

namespace attnscope {

[[nodiscard]] std::string describe(const CheckRow& row);

/// Every listed implementation x every built-in pattern x odd shapes, all threads.
[[nodiscard]] std::vector<CheckRow> check_rows(DeviceKind device);

/// Fails with the first 20 wrong rows.
void expect_none_wrong(const std::vector<CheckRow>& rows);

}  // namespace attnscope
