// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

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

TEST(DescribeMachine, SaysWhichCoresItMayUseAndWhichSettingsItsLibrariesRead) {
  setenv("OMP_WAIT_POLICY", "passive", 1);
  const nlohmann::json machine = describe_machine();
  unsetenv("OMP_WAIT_POLICY");
  EXPECT_EQ(machine.at("environment").at("OMP_WAIT_POLICY"), "passive");
  EXPECT_FALSE(machine.at("affinity").get<std::string>().empty());
  EXPECT_THAT(machine.at("c_library").get<std::string>(), testing::StartsWith("glibc 2."));
  for (const char* key :
       {"governor", "turbo", "smt", "microcode", "hypervisor", "cpu_quota", "load"})
    EXPECT_TRUE(machine.contains(key)) << key;
}

TEST(CoreRanges, JoinNeighboursAndKeepGaps) {
  EXPECT_EQ(core_ranges(std::vector<int>{0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
  EXPECT_EQ(core_ranges(std::vector<int>{}), "");
}

TEST(SettingsThatMatter, AreThoseOfLibrariesThatCompute_WithoutAPersonsFolders) {
  const char* environment[] = {"HOME=/home/somebody",
                               "MKL_NUM_THREADS=2",
                               "CUDA_VISIBLE_DEVICES=",
                               "LD_PRELOAD=/home/somebody/lib/libjemalloc.so:/opt/other.so",
                               "ATTNSCOPE_WORKER=ssh box /srv/attnscope-worker",
                               "MKLESS=1",
                               "no equals sign",
                               nullptr};
  EXPECT_EQ(settings_that_matter(environment),
            (nlohmann::json{{"MKL_NUM_THREADS", "2"},
                            {"CUDA_VISIBLE_DEVICES", ""},
                            {"LD_PRELOAD", "libjemalloc.so:other.so"},
                            {"ATTNSCOPE_WORKER", "ssh box attnscope-worker"}}));
  EXPECT_EQ(settings_that_matter(nullptr), nlohmann::json::object());
}

TEST(DescribeBuild, NamesVersionCommitCompilerAndLibTorch) {
  const nlohmann::json build = describe_build();
  for (const char* key : {"version", "commit", "compiler", "flags", "libtorch", "blas", "onednn",
                          "libtorch_instruction_set", "libtorch_config", "allocator"})
    EXPECT_FALSE(build.at(key).get<std::string>().empty()) << key;
  EXPECT_TRUE(build.at("dirty").is_boolean());
  EXPECT_EQ(build.at("openmp").size(), 1U);
  EXPECT_THAT(build.at("openmp")[0].get<std::string>(), testing::Not(testing::HasSubstr("/")));
}

}  // namespace
}  // namespace attnscope::measure
