// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/figure_arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "app/cli/command_line.h"
#ifdef ATTNSCOPE_HAS_GUI
#include "app/drawing/printable.h"
#endif

namespace attnscope::cli {

void add_figure_arguments(CLI::App& command, FigureArguments& arguments,
                          const std::string& default_width) {
  command
      .add_option("-o,--output", arguments.file,
                  "FIGURE.pdf, .svg or .png; - writes a PDF to standard output")
      ->type_name("FIGURE")
      ->required();
  command
      .add_option(
          "--width", arguments.width,
          fmt::format("lncs (122 mm), acm (84.7 mm), acl (77 mm) or millimetres; default: {}",
                      default_width))
      ->type_name("WIDTH");
  command.add_option("--font-pt", arguments.font_pt, "Text size in points; default: 8")
      ->type_name("PT");
  command.add_option("--dpi", arguments.dpi, "Resolution of a .png in dots per inch; default: 300")
      ->type_name("DPI");
  command.add_flag("--no-title,!--title", arguments.no_title, "Do not draw a title");
  command.add_flag("--csv", arguments.csv,
                   "Also write the drawn values to FIGURE.csv, replacing an existing file");
  command.add_flag(
      "--tex", arguments.tex,
      "Also write a LaTeX figure environment to FIGURE.tex, replacing an existing file");
}

#ifdef ATTNSCOPE_HAS_GUI

Result<charts::FigureOptions> figure_options(const FigureArguments& arguments,
                                             double default_width_mm) {
  charts::FigureOptions options;
  options.width_mm = default_width_mm;
  if (!arguments.width.empty()) {
    const auto width = charts::width_in_mm(arguments.width);
    if (!width) return tl::unexpected(width.error());
    options.width_mm = *width;
  }
  options.font_pt = arguments.font_pt;
  options.png_dpi = arguments.dpi;
  options.title = !arguments.no_title;
  options.csv = arguments.csv;
  options.tex = arguments.tex;
  return options;
}

void write_and_report(Session& session, const charts::Printable& what,
                      const FigureArguments& arguments, const charts::FigureOptions& options) {
  const auto written = charts::write_printable(what, arguments.file, options);
  if (!written) return session.fail(exit_wrong_use, written.error().message);
  for (const std::filesystem::path& file : *written) {
    say("{} written", file.string());
  }
}

#endif

}  // namespace attnscope::cli
