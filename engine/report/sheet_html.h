#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Pages for a browser, and a Sheet as a table in one. A page is one file: it names no other, its
// policy has the browser fetch none, and of scripts and styles allows its own alone, by their hash.
//
//   write_file("t.html", html_page("Run 3", html_table(sheet), {.styles =
//   {page_part("page.css")}}));

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/report/page_parts.h"
#include "engine/report/sheet.h"

namespace attnscope::report {

/// On one line, every character that means something to HTML as itself.
[[nodiscard]] std::string html_escaped(std::string_view text);
/// A <p> each.
[[nodiscard]] std::string html_paragraphs(const std::vector<std::string>& lines);
/// Its columns and blocks alone, in a box that scrolls where the page is narrower.
[[nodiscard]] std::string html_table(const Sheet& sheet);

struct PageParts {
  std::vector<PagePart> styles = {};
  std::optional<PagePart> script = {};  // runs when everything else is there
};
/// `title` is escaped here, `body` is HTML.
[[nodiscard]] std::string html_page(std::string_view title, std::string_view body,
                                    const PageParts& parts);
/// The sheet with what stands above and below it, as a page of its own.
[[nodiscard]] std::string sheet_page(const Sheet& sheet);

/// A cell's text with its marks, and with its difference where the form has no sign of its own for
/// it; for people, before any form's escapes.
[[nodiscard]] std::string words_in(const SheetCell& cell);

}  // namespace attnscope::report
