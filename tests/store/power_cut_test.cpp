// SPDX-License-Identifier: Apache-2.0
//
// The power goes at the n-th operation, for every n: of what was not synced nothing has reached the
// disk, or some of it, in any order. What was announced is there all the same.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/store/failing_disk.h"
#include "tests/store/store_life.h"

namespace attnscope {
namespace {

using namespace test;

/// Lives until operation n, loses the power, and starts again. False when the life was over before.
bool lives_again_after(int n, std::mt19937_64* survivors) {
  const TemporaryFolder folder;
  FailingDisk disk;
  disk.fail_at(n, FailingDisk::Kind::io_error, FailingDisk::Lasting::for_good);
  const Announced announced = live(folder / "results.db");
  disk.cut_power(survivors);
  disk.mend();
  expect_kept_and_resumable(folder / "results.db", announced);
  return disk.has_failed();
}

TEST(PowerCut, WhenNothingUnsyncedReachedTheDisk_NoAnnouncedHeatIsLost) {
  int n = 1;
  for (; !testing::Test::HasFailure(); ++n) {
    SCOPED_TRACE(fmt::format("operation {}", n));
    if (!lives_again_after(n, nullptr)) break;
  }
  EXPECT_GT(n, 50);
}

TEST(PowerCut, WhenSomeOfTheUnsyncedReachedTheDisk_NoAnnouncedHeatIsLost) {
  std::mt19937_64 random(5);
  int n = 1;
  for (; !testing::Test::HasFailure(); ++n) {
    SCOPED_TRACE(fmt::format("operation {}", n));
    bool died = false;
    for (int draw = 0; draw < 3; ++draw) died = lives_again_after(n, &random) || died;
    if (!died) break;
  }
  EXPECT_GT(n, 50);
}

}  // namespace
}  // namespace attnscope
