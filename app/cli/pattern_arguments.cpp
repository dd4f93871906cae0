// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/pattern_arguments.h"

#include <CLI/CLI.hpp>
#include <utility>

namespace attnscope::cli {

void add_pattern_arguments(CLI::App& command, PatternArguments& arguments) {
  command.add_option("pattern", arguments.pattern, "Attention pattern: name or JSON file")
      ->type_name("PATTERN")
      ->required();
  command
      .add_option("--window", arguments.window, "Window: tokens attended to on each side, or inf")
      ->type_name("W");
  command.add_option("--query", arguments.query, "Tokens of the query, including its [SEP]")
      ->type_name("N");
  command
      .add_option("--document", arguments.document, "Tokens of the document, including its [SEP]")
      ->type_name("N");
}

Result<std::optional<Window>> read_window(const std::string& text) {
  if (text.empty()) return std::optional<Window>();
  return parse_window(text).map([](Window window) { return std::optional(window); });
}

Result<PatternWithWindow> read_pattern(const PatternArguments& arguments) {
  auto pattern = find_pattern(arguments.pattern);
  if (!pattern) return tl::unexpected(pattern.error());
  const auto window = read_window(arguments.window);
  if (!window) return tl::unexpected(window.error());
  if (pattern->has_window() && !*window) {
    return fail("pattern '{}' has a window; give --window W (tokens, or inf).", pattern->name);
  }
  return PatternWithWindow{std::move(*pattern), *window};
}

Result<LayoutItem> read_item(const PatternArguments& arguments) {
  if (arguments.query < 0 || arguments.document < 0) {
    return fail("--query {} and --document {} count tokens and cannot be negative.",
                arguments.query, arguments.document);
  }
  LayoutItem item;
  item.query = arguments.query;
  item.documents = {arguments.document};
  return item;
}

}  // namespace attnscope::cli
