// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/check_rows.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <omp.h>

namespace attnscope {

std::string describe(const CheckRow& row) {
  return fmt::format("{}/{}/{} on {}, {}: {} (error {:.3g}, bound {:.3g})", row.pattern,
                     row.implementation, row.window, row.shape, name_of(row.dtype), row.reason,
                     row.relative_error, row.error_bound);
}

std::vector<CheckRow> check_rows(DeviceKind device) {
  std::vector<CheckRow> rows;
  check_all(device, omp_get_num_procs(), [&](const CheckRow& row) { rows.push_back(row); });
  return rows;
}

void expect_none_wrong(const std::vector<CheckRow>& rows) {
  int wrong = 0;
  for (const CheckRow& row : rows) {
    if (row.outcome != CheckRow::Outcome::wrong) continue;
    if (++wrong <= 20) ADD_FAILURE() << describe(row);
  }
  EXPECT_EQ(wrong, 0) << "rows wrong in all";
}

}  // namespace attnscope
