#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// HTML pages, and the files of resources/ that are compiled in unchanged: the papers' numbers, and
// styles and the script of HTML pages.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope::report {

// Files of resources/, compiled in unchanged: the papers' numbers, and styles and the script of
// HTML pages.

struct Resource {
  std::string_view text;
  std::string_view sha256;  // of the text, in hexadecimal
};
/// The file with this name, such as "report.js" or "ecir24_table3.csv"; empty if there is none.
[[nodiscard]] Resource resource(std::string_view name);

// HTML pages. A page is a single file: it refers to no other file, its policy forbids the browser
// to load any, and it allows only its own scripts and styles, by their hash.
//
//   const PageParts parts{.styles = {resource("page.css")}};
//   write_file("t.html", html_page("Run 3", html_table(sheet), parts));

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
