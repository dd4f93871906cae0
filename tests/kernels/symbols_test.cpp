// SPDX-License-Identifier: Apache-2.0
//
// An inline function compiled for a higher instruction set could be picked by the linker for the
// baseline path, an illegal instruction on older processors: such objects export one function each.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace {

/// Lines of `nm` on the symbols an object defines for others.
std::vector<std::string> exported_symbols(const std::string& object) {
  const std::string command = "nm --defined-only --extern-only --demangle '" + object + "'";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::vector<std::string> lines;
  std::array<char, 4096> line{};
  while (pipe && std::fgets(line.data(), static_cast<int>(line.size()), pipe.get()) != nullptr) {
    lines.emplace_back(line.data());
  }
  return lines;
}

void expect_only(const std::string& object, const std::string& name) {
  const std::vector<std::string> symbols = exported_symbols(object);
  ASSERT_EQ(symbols.size(), 1U) << ::testing::PrintToString(symbols);
  EXPECT_NE(symbols.front().find("T attnscope::cpu::" + name + "()"), std::string::npos)
      << symbols.front();
}

TEST(PerInstructionSetObjects, ExportTheirTableAlone) {
  expect_only(ATTNSCOPE_OBJECT_BASELINE, "baseline_kernels");
  expect_only(ATTNSCOPE_OBJECT_AVX2, "avx2_kernels");
  expect_only(ATTNSCOPE_OBJECT_AVX512, "avx512_kernels");
  expect_only(ATTNSCOPE_OBJECT_AVX512_BF16, "avx512_bf16_kernels");
}

}  // namespace
