// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "app/gui/charts/printable.h"
#include "engine/report/number_text.h"
#include "engine/report/sheet.h"

namespace attnscope::charts {
namespace {

/// Letters that neither \includegraphics nor a comment stumbles over.
bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x80 &&
         (std::isalnum(byte) != 0 || std::string_view("-_.+ ").find(c) != std::string_view::npos);
}

std::string label_of(std::string stem) {
  std::ranges::replace_if(
      stem, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '-');
  return stem;
}

/// A sentence without its full stop gets one.
std::string sentence(std::string text) {
  if (!text.empty() && !text.ends_with('.')) text += '.';
  return text;
}

}  // namespace

Result<std::string> tex_snippet(const Printable& what, const std::filesystem::path& figure,
                                const FigureOptions& options) {
  const Result<FileFormat> format = format_of(figure);
  if (!format) return tl::unexpected(format.error());
  if (*format == FileFormat::svg) {
    return fail("{}: LaTeX does not include SVG; write .pdf or .png, or leave the .tex out",
                figure.string());
  }
  const std::string name = figure.filename().string();
  if (!std::ranges::all_of(name, is_plain)) {
    return fail(
        "{}: LaTeX cannot include a file of that name; use plain letters, digits, blanks, - and _",
        figure.string());
  }
  std::vector<std::string> sentences;
  for (const std::string& one : {what.about, what.title, what.warning, options.caption}) {
    if (!one.empty()) sentences.push_back(sentence(report::latex_escaped(one)));
  }
  return fmt::format(
      "% {}\n"
      "\\begin{{figure}}\n"
      "  \\centering\n"
      "  \\includegraphics[width={}mm]{{{}}}\n"
      "  \\caption{{{}}}\n"
      "  \\label{{fig:{}}}\n"
      "\\end{{figure}}\n",
      report::one_line(what.provenance), options.width_mm, name, fmt::join(sentences, " "),
      label_of(figure.stem().string()));
}

}  // namespace attnscope::charts
