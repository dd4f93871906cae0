// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/devices.h"

#include <gtest/gtest.h>

namespace attnscope {
namespace {

TEST(CudaDevices, AreListedOrTheirAbsenceIsExplained) {
  const CudaDevices found = cuda_devices();
  EXPECT_NE(found.devices.empty(), found.reason.empty());
  for (const CudaDevice& device : found.devices) {
    EXPECT_FALSE(device.name.empty());
    EXPECT_GT(device.compute_major, 0);
    EXPECT_GT(device.memory_bytes, 0);
  }
}

TEST(CudaDevices, AreTheSameInASecondQuery) {
  EXPECT_EQ(cuda_devices().reason, cuda_devices().reason);
}

}  // namespace
}  // namespace attnscope
