// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/ceilings.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "engine/measure/heat_runner.h"

namespace attnscope::measure {
namespace {

TEST(Ceilings, AllRatesArePositiveAndFinite) {
  const Ceilings ceilings = measure_ceilings(1);
  EXPECT_EQ(ceilings.threads, 1);
  for (const double rate : {ceilings.flop_per_second, ceilings.exponentials_per_second}) {
    EXPECT_GT(rate, 0);
    EXPECT_TRUE(std::isfinite(rate));
  }
  ASSERT_FALSE(ceilings.copy.empty());
  std::int64_t before = 0;
  for (const Ceilings::Copy& copy : ceilings.copy) {
    EXPECT_GT(copy.working_set_bytes, before);
    EXPECT_GT(copy.bytes_per_second, 0);
    EXPECT_TRUE(std::isfinite(copy.bytes_per_second));
    before = copy.working_set_bytes;
  }
}

TEST(PeakKernels, ExponentialsAreCorrectOnEveryInstructionSet) {
  constexpr std::size_t count = 1024;
  std::vector<float> in(count);
  std::vector<float> out(count);
  for (std::size_t i = 0; i < count; ++i) in[i] = -87.0F * static_cast<float>(i) / count;
  for (const PeakKernel& kernel : peak_kernels()) {
    kernel.exponentials(in.data(), out.data(), count);
    for (std::size_t i = 0; i < count; ++i) {
      // The argument of 2^x is rounded once: up to 126 * 2^-24 of the result.
      const double expected = std::exp(static_cast<double>(in[i]));
      EXPECT_NEAR(out[i], expected, 1e-5 * expected) << kernel.instruction_set << " " << in[i];
    }
  }
}

TEST(PeakKernels, WorkGrowsWithTheRepeats) {
  for (const PeakKernel& kernel : peak_kernels())
    EXPECT_EQ(kernel.multiply_add(1000), 1000 * kernel.multiply_add(1)) << kernel.instruction_set;
}

}  // namespace
}  // namespace attnscope::measure
