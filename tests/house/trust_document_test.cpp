// SPDX-License-Identifier: Apache-2.0
//
// docs/trust.md names a test for every promise: these tests exist.

#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Every C++ test source, one after the other, without blanks and line ends.
std::string all_tests() {
  std::string all;
  for (const auto& entry :
       fs::recursive_directory_iterator(fs::path(ATTNSCOPE_SOURCE_DIR) / "tests")) {
    if (entry.path().extension() != ".cpp") continue;
    for (const char c : text_of(entry.path())) {
      if (std::isspace(static_cast<unsigned char>(c)) == 0) all.push_back(c);
    }
  }
  return all;
}

bool is_name(std::string_view text) {
  if (text.empty() || std::isupper(static_cast<unsigned char>(text.front())) == 0) return false;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') return false;
  }
  return true;
}

/// Suite and test of "Suite.Test".
std::optional<std::pair<std::string, std::string>> test_named(std::string_view code) {
  const std::size_t dot = code.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view suite = code.substr(0, dot), test = code.substr(dot + 1);
  if (!is_name(suite) || !is_name(test)) return std::nullopt;
  return std::pair(std::string(suite), std::string(test));
}

TEST(TrustDocument, NamesExistingTests) {
  const std::string document = text_of(fs::path(ATTNSCOPE_SOURCE_DIR) / "docs" / "trust.md");
  const std::string tests = all_tests();
  int named = 0;
  // Names are between pairs of backquotes.
  for (std::size_t open = document.find('`'); open != std::string::npos;) {
    const std::size_t close = document.find('`', open + 1);
    if (close == std::string::npos) break;
    if (const auto found =
            test_named(std::string_view(document).substr(open + 1, close - open - 1))) {
      const auto& [suite, test] = *found;
      const bool google = tests.find("(" + suite + "," + test + ")") != std::string::npos;
      const bool qt = tests.find("class" + suite + ":") != std::string::npos &&
                      tests.find("void" + test + "()") != std::string::npos;
      EXPECT_TRUE(google || qt) << suite << "." << test;
      ++named;
    }
    open = document.find('`', close + 1);
  }
  EXPECT_GT(named, 30);
}

}  // namespace
