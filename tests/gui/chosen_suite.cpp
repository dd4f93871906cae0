// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>

#include "tests/gui/gui_test.h"

namespace attnscope::gui {
namespace {

std::map<std::string, RunSuite>& suites() {
  static std::map<std::string, RunSuite> all;
  return all;
}

}  // namespace

bool enter_suite(const char* file, RunSuite run) {
  return suites().emplace(std::filesystem::path(file).stem().string(), run).second;
}

}  // namespace attnscope::gui

// PROGRAM SUITE [QTEST ARGUMENTS]
int main(int argc, char** argv) {
  const auto& all = attnscope::gui::suites();
  const auto suite = argc < 2 ? all.end() : all.find(argv[1]);
  if (suite == all.end()) {
    std::fputs("Name one of these suites:\n", stderr);
    for (const auto& [name, run] : all) std::fprintf(stderr, "  %s\n", name.c_str());
    return 2;
  }
  argv[1] = argv[0];
  return suite->second(argc - 1, argv + 1);
}
