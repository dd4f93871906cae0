#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The files of resources/report, compiled in: styles and the script of pages for a browser.

#include <string_view>

namespace attnscope::report {

struct PagePart {
  std::string_view text;
  std::string_view sha256;  // of the text, in hexadecimal
};

/// The part with this name, such as "report.js"; empty if there is no such file.
[[nodiscard]] PagePart page_part(std::string_view name);

}  // namespace attnscope::report
