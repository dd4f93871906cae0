#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Command-line options of the output file of `plot` and `mask`: the command-line form of
// charts::FigureOptions.

#include <filesystem>
#include <optional>
#include <string>

#include "app/cli/command_line.h"
#include "base/result.h"

namespace attnscope::charts {
struct FigureOptions;
struct Printable;
}  // namespace attnscope::charts

namespace attnscope::cli {

struct FigureArguments {
  std::string width;  // empty: the figure's default
  double font_pt = 8, dpi = 300;
  bool no_title = false, csv = false, tex = false;
  std::filesystem::path file;
};
/// `default_width` is the width that --help names: "lncs".
void add_figure_arguments(CLI::App& command, FigureArguments& arguments,
                          const std::string& default_width);

#ifdef ATTNSCOPE_HAS_GUI
[[nodiscard]] Result<charts::FigureOptions> figure_options(const FigureArguments& arguments,
                                                           double default_width_mm);
/// Writes the figure and its companion files, and prints the name of every file on stderr.
void write_figure(Session& session, const charts::Printable& what, const FigureArguments& arguments,
                  const charts::FigureOptions& options);
void write_figure(Session& session, const charts::Printable& what, const FigureArguments& arguments,
                  double default_width_mm);
#endif

}  // namespace attnscope::cli
