// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <memory>

#include "app/cli/command_line.h"
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
  std::filesystem::path file;
};

#ifdef ATTNSCOPE_HAS_GUI

Status draw(const Session& session, const Arguments& arguments) {
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
  charts::MaskOptions options;
  auto style = charts::parse_mask_style(arguments.style);
  if (!style) return tl::unexpected(style.error());
  options.style = *style;
  options.command = session.command_line;
  LayoutItem item;
  item.query = arguments.query;
  item.documents = {arguments.document};
  const charts::OffscreenApplication application;
  return charts::export_mask(*pattern, window, item, arguments.file, options);
}

void mask(Session& session, const Arguments& arguments) {
  if (Status done = draw(session, arguments); !done)
    return session.fail(exit_wrong_use, done.error().message);
  fmt::print(stderr, "{} written\n", arguments.file.string());
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
  command->add_option("-o,--output", arguments->file, "MASK.png, .svg or .pdf")
      ->type_name("MASK")
      ->required();
  command->callback([&session, arguments] { mask(session, *arguments); });
}

}  // namespace attnscope::cli
