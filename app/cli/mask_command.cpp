// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <memory>

#include "app/cli/command_line.h"
#include "app/cli/figure_arguments.h"
#include "engine/pattern/attention_pattern.h"
#ifdef ATTNSCOPE_HAS_GUI
#include "app/gui/charts/mask_export.h"
#include "app/gui/charts/offscreen_application.h"
#endif

namespace attnscope::cli {

namespace {

struct Arguments {
  std::string pattern, window, style = "schematic";
  std::int64_t query = 10, document = 500;
  FigureArguments figure;
  bool no_legend = false;
};

#ifdef ATTNSCOPE_HAS_GUI

Result<charts::MaskSubject> subject_of(const Session& session, const Arguments& arguments) {
  const auto pattern = find_pattern(arguments.pattern);
  if (!pattern) return tl::unexpected(pattern.error());
  std::optional<Window> window;
  if (!arguments.window.empty()) {
    auto parsed = parse_window(arguments.window);
    if (!parsed) return tl::unexpected(parsed.error());
    window = *parsed;
  }
  if (pattern->has_window() && !window) {
    return fail("pattern '{}' has a window; give --window W (tokens, or inf).", pattern->name);
  }
  if (arguments.query < 0 || arguments.document < 0) {
    return fail("--query {} and --document {} count tokens and cannot be negative.",
                arguments.query, arguments.document);
  }
  const auto style = charts::parse_mask_style(arguments.style);
  if (!style) return tl::unexpected(style.error());
  LayoutItem item;
  item.query = arguments.query;
  item.documents = {arguments.document};
  return charts::MaskSubject{.pattern = *pattern,
                             .window = window,
                             .item = item,
                             .style = *style,
                             .legend = !arguments.no_legend,
                             .command = session.command_line};
}

void mask(Session& session, const Arguments& arguments) {
  auto subject = subject_of(session, arguments);
  if (!subject) return session.fail(exit_wrong_use, subject.error().message);
  const auto options = figure_options(arguments.figure, charts::mask_width_mm);
  if (!options) return session.fail(exit_wrong_use, options.error().message);
  const charts::OffscreenApplication application;
  write_and_tell(session, charts::printable(std::move(*subject)), arguments.figure, *options);
}

#else

void mask(Session& session, const Arguments&) {
  session.fail(
      exit_wrong_use,
      "this build has no Qt and cannot draw; results leave it with 'attnscope export', masks are "
      "drawn by a build with the window.");
}

#endif

}  // namespace

void add_mask_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("mask", "Draw a pattern's mask");
  command->add_option("pattern", arguments->pattern, "Name or JSON file")
      ->type_name("PATTERN")
      ->required();
  command->add_option("--window", arguments->window, "Tokens to each side, or inf")->type_name("W");
  command->add_option("--query", arguments->query, "Tokens of the query, its [SEP] included")
      ->type_name("N");
  command
      ->add_option("--document", arguments->document, "Tokens of the document, its [SEP] included")
      ->type_name("N");
  command->add_option("--style", arguments->style, "schematic, equal-groups or true")
      ->type_name("STYLE");
  command->add_flag("--no-legend,!--legend", arguments->no_legend,
                    "Draw no table of groups beneath; --legend is the default");
  add_figure_arguments(*command, arguments->figure, "84");
  command->callback([&session, arguments] { mask(session, *arguments); });
}

}  // namespace attnscope::cli
