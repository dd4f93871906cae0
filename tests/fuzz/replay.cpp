// SPDX-License-Identifier: Apache-2.0
//
// Feeds committed inputs to a fuzz target that is built without libFuzzer, with any compiler:
//   TARGET_replay FILE-OR-FOLDER...
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_input.h"

int main(int count, char** arguments) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < count; ++i) {
    if (!std::filesystem::is_directory(arguments[i])) {
      files.emplace_back(arguments[i]);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(arguments[i])) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& file : files) {
    std::ifstream in(file, std::ios::binary);
    if (!in) {
      std::printf("%s cannot be read\n", file.c_str());
      return 1;
    }
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    // Printed before the call, so that the last line names the input that ends the process.
    std::printf("%s\n", file.c_str());
    std::fflush(stdout);
    attnscope::fuzz::run(bytes);
  }
  std::printf("%zu inputs, no finding\n", files.size());
  return files.empty() ? 1 : 0;
}
