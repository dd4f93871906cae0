// SPDX-License-Identifier: Apache-2.0
//
// The linker could use an inline function compiled for a higher instruction set in the baseline
// path, which is an illegal instruction on older processors. So such objects export only one
// function.
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

TEST(PerInstructionSetObjects, ExportOnlyTheirTable) {
  struct Object {
    const char *name, *path;
  };
  for (const Object& object : std::vector<Object>{ATTNSCOPE_KERNEL_OBJECTS}) {
    const std::vector<std::string> symbols = exported_symbols(object.path);
    ASSERT_EQ(symbols.size(), 1U) << ::testing::PrintToString(symbols);
    EXPECT_NE(symbols.front().find(std::string("T attnscope::cpu::") + object.name + "()"),
              std::string::npos)
        << symbols.front();
  }
}

}  // namespace
