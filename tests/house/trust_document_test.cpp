// SPDX-License-Identifier: Apache-2.0
//
// docs/trust.md names a test for every promise: those tests are there.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Every C++ test source, one after the other, blanks and line ends within names' lists made one.
std::string all_tests() {
  std::string all;
  for (const auto& entry :
       fs::recursive_directory_iterator(fs::path(ATTNSCOPE_SOURCE_DIR) / "tests")) {
    if (entry.path().extension() == ".cpp") all += text_of(entry.path());
  }
  return std::regex_replace(all, std::regex(",\\s+"), ", ");
}

TEST(TrustDocument, EveryTestItNames_Exists) {
  const std::string document = text_of(fs::path(ATTNSCOPE_SOURCE_DIR) / "docs" / "trust.md");
  const std::string tests = all_tests();
  const std::regex name("`([A-Z][A-Za-z0-9]*)\\.([A-Z][A-Za-z0-9_]*)`");
  int named = 0;
  for (auto found = std::sregex_iterator(document.begin(), document.end(), name);
       found != std::sregex_iterator(); ++found, ++named) {
    const std::string suite = (*found)[1], test = (*found)[2];
    const bool google = tests.find("(" + suite + ", " + test + ")") != std::string::npos;
    const bool qt = tests.find("class " + suite + " ") != std::string::npos &&
                    tests.find("void " + test + "()") != std::string::npos;
    EXPECT_TRUE(google || qt) << suite << "." << test;
  }
  EXPECT_GT(named, 30);
}

}  // namespace
