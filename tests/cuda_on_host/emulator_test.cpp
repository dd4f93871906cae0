// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_on_host/emulator.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tests/cuda_on_host/device_memory.h"
#include "tests/cuda_on_host/planted_kernels/sums.h"

namespace attnscope::on_host {
namespace {

TEST(Emulator, RunsAKernelWithTheSameResultForAllSeeds) {
  const int rows = 37, columns = 50;
  std::vector<float> values(rows * columns);
  std::iota(values.begin(), values.end(), 0.0F);
  const DeviceArray<float> in("in", std::span<const float>(values));
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const DeviceArray<float> out("out", rows);
    set_seed(seed);
    const Status done = cuda::planted::sum({in.data(), out.data(), rows, columns});
    ASSERT_TRUE(done) << done.error().message;
    ASSERT_TRUE(out.written());
    for (int row = 0; row < rows; ++row) {
      EXPECT_EQ(out.values()[row],
                static_cast<float>(columns * columns * row + columns * (columns - 1) / 2));
    }
  }
}

}  // namespace
}  // namespace attnscope::on_host
