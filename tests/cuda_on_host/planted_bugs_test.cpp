// SPDX-License-Identifier: Apache-2.0
//
// The emulation detects every planted bug for all orders of threads and blocks, and the same
// kernels without the bug pass.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tests/cuda_on_host/device_memory.h"
#include "tests/cuda_on_host/emulator.h"
#include "tests/cuda_on_host/planted_kernels/planted.h"

namespace attnscope::on_host {
namespace {

using cuda::planted::Bug;
using cuda::planted::numbers;

constexpr std::uint64_t seeds = 12;

struct Outcome {
  Status status;
  std::vector<float> out;
};

Outcome run(const Bug& bug, bool planted, std::uint64_t seed) {
  std::vector<float> values(numbers);
  std::iota(values.begin(), values.end(), 1.0F);
  const std::vector<unsigned> zero{0};
  const DeviceArray<float> in("in", std::span<const float>(values));
  const DeviceArray<float> out("out", numbers);
  const DeviceArray<unsigned> counter("counter", std::span<const unsigned>(zero));
  const float of_host = 1;
  set_seed(seed);
  Outcome outcome{bug.run({in.data(), out.data(), counter.data(), &of_host, planted}), {}};
  outcome.out = out.values();
  return outcome;
}

class PlantedBug : public ::testing::TestWithParam<Bug> {};

TEST_P(PlantedBug, IsDetectedForAllSeeds) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const Status status = run(GetParam(), true, seed).status;
    ASSERT_FALSE(status) << "seed " << seed;
    EXPECT_THAT(status.error().message, ::testing::ContainsRegex(GetParam().reported))
        << "seed " << seed;
  }
}

TEST_P(PlantedBug, IsNotReportedWithoutTheBugAndResultsHaveTheSameBits) {
  const Outcome first = run(GetParam(), false, 0);
  ASSERT_TRUE(first.status) << first.status.error().message;
  for (std::uint64_t seed = 1; seed < seeds; ++seed) {
    const Outcome next = run(GetParam(), false, seed);
    ASSERT_TRUE(next.status) << next.status.error().message;
    ASSERT_EQ(std::memcmp(next.out.data(), first.out.data(), numbers * sizeof(float)), 0)
        << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Emulator, PlantedBug, ::testing::ValuesIn(cuda::planted::bugs()),
                         [](const auto& parameter) { return parameter.param.name; });

}  // namespace
}  // namespace attnscope::on_host
