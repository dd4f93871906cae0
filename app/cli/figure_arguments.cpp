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
  add_option(command, "-o,--output", arguments.file, "FIGURE",
             "Figure to write: .pdf, .svg or .png; - writes a PDF to standard output")
      ->required();
  add_option(command, "--width", arguments.width, "WIDTH",
             fmt::format("Width of the figure: lncs (122 mm), acm (84.7 mm), acl (77 mm) or a "
                         "number of millimetres; default: {}",
                         default_width));
  add_option(command, "--font-pt", arguments.font_pt, "PT", "Text size in points; default: 8");
  add_option(command, "--dpi", arguments.dpi, "DPI",
             "Resolution of a .png in dots per inch; default: 300");
  command.add_flag("--no-title,!--title", arguments.no_title, "Do not draw a title");
  command.add_flag("--csv", arguments.csv,
                   "Also write the drawn values to FIGURE.csv; an existing file is replaced");
  command.add_flag("--tex", arguments.tex,
                   "Also write FIGURE.tex, a LaTeX figure environment that includes the figure; an "
                   "existing file is replaced");
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

void write_figure(Session& session, const charts::Printable& what, const FigureArguments& arguments,
                  const charts::FigureOptions& options) {
  const charts::OffscreenApplication application;
  const auto written = charts::write_printable(what, arguments.file, options);
  if (!written) return session.fail(written.error());
  for (const std::filesystem::path& file : *written) {
    print_status("{} written", file.string());
  }
}

void write_figure(Session& session, const charts::Printable& what, const FigureArguments& arguments,
                  double default_width_mm) {
  const auto options = figure_options(arguments, default_width_mm);
  if (!options) return session.fail(options.error());
  write_figure(session, what, arguments, *options);
}

#endif

}  // namespace attnscope::cli
