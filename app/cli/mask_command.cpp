// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "app/cli/command_line.h"
#include "app/cli/figure_arguments.h"
#include "app/cli/pattern_arguments.h"
#ifdef ATTNSCOPE_HAS_GUI
#include "app/drawing/mask_drawing.h"
#include "app/drawing/offscreen_application.h"
#endif

namespace attnscope::cli {

namespace {

struct MaskCommandArguments {
  PatternArguments pattern;
  std::string style = "schematic";
  FigureArguments figure;
  bool no_legend = false;
};

#ifdef ATTNSCOPE_HAS_GUI

Result<charts::MaskSubject> subject_of(const Session& session,
                                       const MaskCommandArguments& arguments) {
  auto pattern = read_pattern(arguments.pattern);
  if (!pattern) return tl::unexpected(pattern.error());
  const auto item = read_item(arguments.pattern);
  if (!item) return tl::unexpected(item.error());
  const auto style = charts::parse_mask_style(arguments.style);
  if (!style) return tl::unexpected(style.error());
  return charts::MaskSubject{.source = {std::move(pattern->pattern), pattern->window},
                             .item = *item,
                             .style = *style,
                             .legend = !arguments.no_legend,
                             .command = session.command_line};
}

void mask(Session& session, const MaskCommandArguments& arguments) {
  auto subject = subject_of(session, arguments);
  if (!subject) return session.fail(exit_wrong_use, subject.error().message);
  const auto options = figure_options(arguments.figure, charts::mask_width_mm);
  if (!options) return session.fail(exit_wrong_use, options.error().message);
  const auto what = charts::printable(std::move(*subject));
  const charts::OffscreenApplication application;
  write_and_report(session, what, arguments.figure, *options);
}

#else

void mask(Session& session, const MaskCommandArguments&) {
  session.fail(
      exit_wrong_use,
      "this build has no Qt and cannot draw; results leave it with 'attnscope export', masks are "
      "drawn by a build with the window.");
}

#endif

}  // namespace

void add_mask_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<MaskCommandArguments>();
  CLI::App* command = app.add_subcommand("mask", "Draw a pattern's mask");
  add_pattern_arguments(*command, arguments->pattern);
  command->add_option("--style", arguments->style, "schematic or true")->type_name("STYLE");
  command->add_flag("--no-legend,!--legend", arguments->no_legend,
                    "Do not draw the legend of token groups");
  add_figure_arguments(*command, arguments->figure, "84");
  command->callback([&session, arguments] { mask(session, *arguments); });
}

}  // namespace attnscope::cli
