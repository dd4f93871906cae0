// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <cstdlib>
#include <vector>

#include "engine/measure/ceilings.h"
#include "engine/measure/heat_runner.h"
#include "kernels/cpu/instruction_set.h"

namespace attnscope::measure {
namespace {

TEST(OpenmpRuntimes, AreListedOnceWithoutOtherLibraries) {
  const char* maps =
      "7f00-7f01 r-xp 00000000 08:01 1 /usr/lib/libgomp.so.1\n"
      "7f01-7f02 r--p 00000000 08:01 1 /usr/lib/libgomp.so.1\n"
      "7f02-7f03 r-xp 00000000 08:01 2 /opt/intel/libiomp5.so\n"
      "7f03-7f04 r-xp 00000000 08:01 3 /usr/lib/libompanion.so\n"
      "7f04-7f05 rw-p 00000000 00:00 0\n";
  EXPECT_EQ(openmp_runtimes(maps),
            (std::vector<std::string>{"/usr/lib/libgomp.so.1", "/opt/intel/libiomp5.so"}));
}

TEST(OpenmpRuntimes, LibTorchAndTheKernelsShareOne) {
  set_threads(2);
  EXPECT_EQ(mapped_openmp_runtimes().size(), 1U);
}

TEST(DescribeMachine, ContainsProcessorMemoryAndSettings) {
  setenv("OMP_WAIT_POLICY", "passive", 1);
  const nlohmann::json machine = describe_machine();
  unsetenv("OMP_WAIT_POLICY");
  EXPECT_EQ(machine.at("kind"), "cpu");
  EXPECT_FALSE(machine.at("name").get<std::string>().empty());
  EXPECT_GE(machine.at("cores").get<int>(), 1);
  EXPECT_GT(machine.at("memory_bytes").get<std::int64_t>(), 0);
  EXPECT_THAT(machine.at("instruction_sets"), testing::Contains(machine.at("instruction_set")));
  EXPECT_EQ(machine.at("instruction_sets").size(), cpu::available_sets().size());
  EXPECT_EQ(machine.at("environment").at("OMP_WAIT_POLICY"), "passive");
  EXPECT_FALSE(machine.at("affinity").get<std::string>().empty());
  EXPECT_THAT(machine.at("c_library").get<std::string>(), testing::StartsWith("glibc 2."));
  for (const char* key :
       {"governor", "turbo", "smt", "microcode", "hypervisor", "cpu_quota", "load"})
    EXPECT_TRUE(machine.contains(key)) << key;
}

TEST(CoreRanges, JoinConsecutiveNumbers) {
  EXPECT_EQ(core_ranges(std::vector<int>{0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
  EXPECT_EQ(core_ranges(std::vector<int>{}), "");
}

TEST(RelevantSettings, AreThoseOfComputingLibrariesWithoutFolders) {
  const char* environment[] = {"HOME=/home/somebody",
                               "MKL_NUM_THREADS=2",
                               "CUDA_VISIBLE_DEVICES=",
                               "LD_PRELOAD=/home/somebody/lib/libjemalloc.so:/opt/other.so",
                               "ATTNSCOPE_WORKER=ssh box /srv/attnscope-worker",
                               "MKLESS=1",
                               "no equals sign",
                               nullptr};
  EXPECT_EQ(relevant_settings(environment),
            (nlohmann::json{{"MKL_NUM_THREADS", "2"},
                            {"CUDA_VISIBLE_DEVICES", ""},
                            {"LD_PRELOAD", "libjemalloc.so:other.so"},
                            {"ATTNSCOPE_WORKER", "ssh box attnscope-worker"}}));
  EXPECT_EQ(relevant_settings(nullptr), nlohmann::json::object());
}

TEST(DescribeBuild, ContainsVersionCommitCompilerAndLibTorch) {
  const nlohmann::json build = describe_build();
  for (const char* key : {"version", "commit", "compiler", "flags", "libtorch", "blas", "onednn",
                          "libtorch_instruction_set", "libtorch_config", "allocator"})
    EXPECT_FALSE(build.at(key).get<std::string>().empty()) << key;
  EXPECT_TRUE(build.at("dirty").is_boolean());
  EXPECT_EQ(build.at("openmp").size(), 1U);
  EXPECT_THAT(build.at("openmp")[0].get<std::string>(), testing::Not(testing::HasSubstr("/")));
}

TEST(AvailableMemory, IsPositiveAndBelowTheTotal) {
  EXPECT_GT(available_memory_bytes(), 0);
  EXPECT_LT(available_memory_bytes(), total_memory_bytes());
  EXPECT_GT(resident_bytes(), mib);
}

/// Exits with 0 if a limit of 1 GiB on the address space limits the reported memory.
[[noreturn]] void exit_after_limiting_address_space() {
  constexpr rlim_t limit = rlim_t{1} << 30;
  const rlimit address_space{limit, limit};
  setrlimit(RLIMIT_AS, &address_space);
  const bool is_limited =
      available_memory_bytes() < std::int64_t{limit} && total_memory_bytes() == std::int64_t{limit};
  std::_Exit(is_limited ? 0 : 1);
}

TEST(AvailableMemory, IsLimitedByTheAddressSpace) {
  EXPECT_EXIT(exit_after_limiting_address_space(), testing::ExitedWithCode(0), "");
}

TEST(MeminfoBytes, ReadsKibibytes) {
  const char* text = "MemTotal:       24 kB\nMemFree: 7 kB\nMemAvailable:   12 kB\n";
  EXPECT_EQ(meminfo_bytes(text, "MemTotal"), 24 * 1024);
  EXPECT_EQ(meminfo_bytes(text, "MemAvailable"), 12 * 1024);
  EXPECT_EQ(meminfo_bytes(text, "Available"), std::nullopt);
  EXPECT_EQ(meminfo_bytes("", "MemTotal"), std::nullopt);
}

TEST(MemoryLimit, IsReadFromItsVariableInMebibytes) {
  constexpr const char* variable = "ATTNSCOPE_MEMORY_LIMIT_MB";
  unsetenv(variable);
  EXPECT_EQ(memory_limit_bytes().value(), std::nullopt);
  setenv(variable, "3", 1);
  EXPECT_EQ(memory_limit_bytes().value(), 3 << 20);
  for (const char* text : {"much", "12x", "-1", "0", "1e3", "99999999999999999999"}) {
    setenv(variable, text, 1);
    const auto limit = memory_limit_bytes();
    EXPECT_FALSE(limit.has_value()) << text;
    if (limit) continue;
    EXPECT_THAT(limit.error().message, testing::HasSubstr(variable));
    EXPECT_THAT(limit.error().message, testing::HasSubstr(text));
  }
  unsetenv(variable);
}

TEST(BytesText, ContainsTheExactNumber) {
  EXPECT_EQ(bytes_text(512), "512 bytes");
  EXPECT_EQ(bytes_text(std::int64_t{3} << 29), "1.5 GiB (1610612736 bytes)");
}

void touch(std::int64_t bytes) {
  const std::vector<char> touched(static_cast<std::size_t>(bytes), '\1');
  static_cast<void>(*static_cast<const volatile char*>(&touched.back()));
}

TEST(ProcessPeak, ContainsOnlyMemoryTouchedSinceItsConstruction) {
  touch(80 * mib);
  const ProcessPeak peak;
  if (!peak.grown_bytes()) GTEST_SKIP() << "this kernel does not let a process reset its peaks";
  EXPECT_LT(*peak.grown_bytes(), 40 * mib);
  touch(80 * mib);
  EXPECT_GE(*peak.grown_bytes(), 70 * mib);
  EXPECT_LT(*peak.grown_bytes(), 200 * mib);
}

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
