#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The rows of the conformance check on a device, for the tests.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/proof/check.h"

namespace attnscope {

using Outcome = CheckRow::Outcome;

inline std::string describe(const CheckRow& row) {
  return fmt::format("{}/{}/{} on {}, {}: {} (error {:.3g}, bound {:.3g})", row.pattern,
                     row.implementation, row.window, row.shape, name_of(row.dtype), row.reason,
                     row.relative_error, row.error_bound);
}

/// Every listed implementation x every built-in pattern x odd shapes, all threads; runs once.
inline const std::vector<CheckRow>& all_rows(DeviceKind device = DeviceKind::cpu) {
  static std::map<DeviceKind, std::vector<CheckRow>> of;
  std::vector<CheckRow>& rows = of[device];
  if (rows.empty())
    check_all(device, omp_get_num_procs(), [&](const CheckRow& row) { rows.push_back(row); });
  return rows;
}

/// Fails with the first 20 wrong rows.
inline void expect_none_wrong(const std::vector<CheckRow>& rows) {
  int wrong = 0;
  for (const CheckRow& row : rows) {
    if (row.outcome != Outcome::wrong) continue;
    if (++wrong <= 20) ADD_FAILURE() << describe(row);
  }
  EXPECT_EQ(wrong, 0) << "rows are wrong in total";
}

/// Patterns, and dtypes with memory orders, that an implementation computed.
struct Computed {
  std::set<std::string> patterns, forms;
};
/// What the rows computed; with `backward`, only rows with gradients count.
inline std::map<std::string, Computed> computed_in(const std::vector<CheckRow>& rows,
                                                   bool backward) {
  std::map<std::string, Computed> computed;
  for (const CheckRow& row : rows) {
    if (row.outcome != Outcome::ok) continue;
    if (backward && !row.shape.ends_with("forward-backward")) continue;
    const bool head_major = row.shape.find("head-major") != std::string::npos;
    computed[row.implementation].patterns.insert(row.pattern);
    computed[row.implementation].forms.insert(
        fmt::format("{} {}", name_of(row.dtype), head_major ? "head-major" : "token-major"));
  }
  return computed;
}

}  // namespace attnscope
