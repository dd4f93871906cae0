#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// HTML pages, and a Sheet as an HTML table. A page is a single file: it refers to no other file,
// its policy forbids the browser to load any, and it allows only its own scripts and styles, by
// their hash.
//
//   const PageParts parts{.styles = {page_part("page.css")}};
//   write_file("t.html", html_page("Run 3", html_table(sheet), parts));

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/report/page_parts.h"
#include "engine/report/sheet.h"

namespace attnscope::report {

/// On one line, with all HTML special characters escaped.
[[nodiscard]] std::string html_escaped(std::string_view text);
/// One <p> per line.
[[nodiscard]] std::string html_paragraphs(const std::vector<std::string>& lines);
/// Only the columns and blocks of the sheet, in a box that scrolls if the page is narrower.
[[nodiscard]] std::string html_table(const Sheet& sheet);

struct PageParts {
  std::vector<PagePart> styles = {};
  std::optional<PagePart> script = {};  // runs after everything else is loaded
};
/// `title` is plain text, which is escaped; `body` is HTML.
[[nodiscard]] std::string html_page(std::string_view title, std::string_view body,
                                    const PageParts& parts);
/// The sheet with its texts above and below, as a page of its own.
[[nodiscard]] std::string sheet_page(const Sheet& sheet);

/// A cell's text with its marks, and with its difference if the format has no separate style for
/// it; for people, before escaping.
[[nodiscard]] std::string words_in(const SheetCell& cell);

}  // namespace attnscope::report
