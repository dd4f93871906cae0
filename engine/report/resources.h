#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Files of resources/, compiled in unchanged: the papers' numbers, and styles and the script of
// HTML pages.

#include <string_view>

namespace attnscope::report {

struct Resource {
  std::string_view text;
  std::string_view sha256;  // of the text, in hexadecimal
};
/// The file with this name, such as "report.js" or "ecir24_table3.csv"; empty if there is none.
[[nodiscard]] Resource resource(std::string_view name);

}  // namespace attnscope::report
