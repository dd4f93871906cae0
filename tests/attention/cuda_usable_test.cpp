// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/attention/cuda_runtime.h"

namespace attnscope::cuda {
namespace {

using ::testing::HasSubstr;

constexpr LibTorchCuda libtorch_without{.built = false, .devices = 0};
constexpr LibTorchCuda libtorch_with{.built = true, .devices = 1};

CudaDevices one_device(int major) {
  return {.devices = {{.name = "Some GPU", .compute_major = major, .compute_minor = 5}},
          .reason = ""};
}

TEST(CudaUsable, WithoutADriver_TheDriverIsTheReason_WhateverTheBuild) {
  const CudaDevices none{.devices = {}, .reason = "there is no NVIDIA driver"};
  EXPECT_EQ(usable(none, libtorch_with).error().message, "there is no NVIDIA driver");
  EXPECT_EQ(usable(none, libtorch_without).error().message, "there is no NVIDIA driver");
}

TEST(CudaUsable, LibTorchForTheCpuOnly_IsTheReasonOnAMachineWithADevice) {
  EXPECT_THAT(usable(one_device(9), libtorch_without).error().message,
              HasSubstr("ATTNSCOPE_TORCH_DIR"));
}

TEST(CudaUsable, ADeviceTooOldForTheKernels_IsNamedWithWhatTheyNeed) {
  EXPECT_THAT(usable(one_device(7), libtorch_with).error().message,
              ::testing::AllOf(HasSubstr("Some GPU"), HasSubstr("7.5"), HasSubstr("8.0")));
}

TEST(CudaUsable, ADeviceThatLibTorchDoesNotSee_IsSaid) {
  EXPECT_THAT(usable(one_device(9), {.built = true, .devices = 0}).error().message,
              HasSubstr("LibTorch"));
}

TEST(CudaUsable, DriverDeviceAndLibTorchTogether_AreEnough) {
  EXPECT_TRUE(usable(one_device(8), libtorch_with));
}

TEST(CudaUsable, OfThisProcess_IsAnsweredTheSameEveryTime) {
  EXPECT_EQ(static_cast<bool>(usable()), static_cast<bool>(usable()));
  EXPECT_TRUE(usable() || !usable().error().message.empty());
}

}  // namespace
}  // namespace attnscope::cuda
