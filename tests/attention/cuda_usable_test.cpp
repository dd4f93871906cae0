// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/attention/cuda_runtime.h"

namespace attnscope::cuda {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr LibTorchCuda cpu_libtorch{.built = false, .devices = 0};
constexpr LibTorchCuda cuda_libtorch{.built = true, .devices = 1};

std::string reason(const CudaDevices& found, const LibTorchCuda& libtorch) {
  const Status status = usable(found, libtorch);
  return status ? "" : status.error().message;
}

CudaDevices one_device(int major) {
  return {.devices = {{.name = "Some GPU", .compute_major = major, .compute_minor = 5}},
          .reason = ""};
}

TEST(CudaUsable, NeedsADriver_ANewEnoughDevice_AndALibTorchThatSeesIt) {
  const CudaDevices none{.devices = {}, .reason = "there is no NVIDIA driver"};
  EXPECT_EQ(reason(none, cuda_libtorch), "there is no NVIDIA driver");
  EXPECT_EQ(reason(none, cpu_libtorch), "there is no NVIDIA driver");
  EXPECT_THAT(reason(one_device(9), cpu_libtorch), HasSubstr("ATTNSCOPE_TORCH_DIR"));
  EXPECT_THAT(reason(one_device(7), cuda_libtorch),
              AllOf(HasSubstr("Some GPU"), HasSubstr("7.5"), HasSubstr("8.0")));
  EXPECT_THAT(reason(one_device(9), {.built = true, .devices = 0}), HasSubstr("LibTorch"));
  EXPECT_EQ(reason(one_device(8), cuda_libtorch), "");
}

TEST(CudaUsable, IsTheSameEveryTimeInThisProcess) {
  EXPECT_EQ(static_cast<bool>(usable()), static_cast<bool>(usable()));
  EXPECT_TRUE(usable() || !usable().error().message.empty());
}

}  // namespace
}  // namespace attnscope::cuda
