#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Command-line options of the output file of `plot` and `mask`: the command-line form of
// charts::FigureOptions.

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"

namespace attnscope::charts {
struct FigureOptions;
struct Printable;
}  // namespace attnscope::charts

namespace CLI {
class App;
}  // namespace CLI

namespace attnscope::cli {

struct Session;

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
/// Writes the figure and its companion files, and lists every file on stderr.
void write_and_report(Session& session, const charts::Printable& what,
                      const FigureArguments& arguments, const charts::FigureOptions& options);
#endif

}  // namespace attnscope::cli
