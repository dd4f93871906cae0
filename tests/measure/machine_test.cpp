// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/measure/torch_runtime.h"
#include "kernels/cpu/instruction_set.h"

namespace attnscope::measure {
namespace {

TEST(OpenmpRuntimes, AreNamedOnceEach_AndOtherLibrariesNever) {
  const char* maps =
      "7f00-7f01 r-xp 00000000 08:01 1 /usr/lib/libgomp.so.1\n"
      "7f01-7f02 r--p 00000000 08:01 1 /usr/lib/libgomp.so.1\n"
      "7f02-7f03 r-xp 00000000 08:01 2 /opt/intel/libiomp5.so\n"
      "7f03-7f04 r-xp 00000000 08:01 3 /usr/lib/libompanion.so\n"
      "7f04-7f05 rw-p 00000000 00:00 0\n";
  EXPECT_EQ(openmp_runtimes(maps),
            (std::vector<std::string>{"/usr/lib/libgomp.so.1", "/opt/intel/libiomp5.so"}));
}

TEST(OpenmpRuntimes, ExactlyOneServesLibTorchAndTheKernels) {
  set_threads(2);
  EXPECT_EQ(mapped_openmp_runtimes().size(), 1U);
}

TEST(DescribeMachine, NamesProcessorCoresAndMemory) {
  const nlohmann::json machine = describe_machine();
  EXPECT_EQ(machine.at("kind"), "cpu");
  EXPECT_FALSE(machine.at("name").get<std::string>().empty());
  EXPECT_GE(machine.at("cores").get<int>(), 1);
  EXPECT_GT(machine.at("memory_bytes").get<std::int64_t>(), 0);
  EXPECT_THAT(machine.at("instruction_sets"), testing::Contains(machine.at("instruction_set")));
  EXPECT_EQ(machine.at("instruction_sets").size(), cpu::available_sets().size());
}

TEST(DescribeBuild, NamesVersionCommitCompilerAndLibTorch) {
  const nlohmann::json build = describe_build();
  for (const char* key : {"version", "commit", "compiler", "flags", "libtorch"})
    EXPECT_TRUE(build.at(key).is_string()) << key;
  EXPECT_TRUE(build.at("dirty").is_boolean());
  EXPECT_EQ(build.at("openmp").size(), 1U);
  EXPECT_THAT(build.at("openmp")[0].get<std::string>(), testing::Not(testing::HasSubstr("/")));
}

}  // namespace
}  // namespace attnscope::measure
