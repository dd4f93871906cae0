#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// HTML pages. A page is a single file: it refers to no other file, its policy forbids the browser
// to load any, and it allows only its own scripts and styles, by their hash.
//
//   const PageParts parts{.styles = {resource("page.css")}};
//   write_file("t.html", html_page("Run 3", html_table(sheet), parts));

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/report/resources.h"

namespace attnscope::report {

struct PageParts {
  std::vector<Resource> styles = {};
  std::optional<Resource> script = {};  // runs after everything else is loaded
};
/// `title` is plain text, which is escaped; `body` is HTML.
[[nodiscard]] std::string html_page(std::string_view title, std::string_view body,
                                    const PageParts& parts);

/// On one line, with all HTML special characters escaped.
[[nodiscard]] std::string html_escaped(std::string_view text);
/// One <p> per line.
[[nodiscard]] std::string html_paragraphs(const std::vector<std::string>& lines);

}  // namespace attnscope::report
