#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Options of `mask` and `costs`: a pattern, its window and one query with its document.

#include <cstdint>
#include <optional>
#include <string>

#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/sequence_layout.h"

namespace CLI {
class App;
}  // namespace CLI

namespace attnscope::cli {

struct PatternArguments {
  std::string pattern, window;
  std::int64_t query = 10, document = 500;
};
void add_pattern_arguments(CLI::App& command, PatternArguments& arguments);

/// The window of an option; nothing if the option was not given.
[[nodiscard]] Result<std::optional<Window>> read_window(const std::string& text);

struct PatternWithWindow {
  AttentionPattern pattern;
  std::optional<Window> window;
};
/// Errors: an unknown pattern, an invalid window, no window for a pattern that needs one.
[[nodiscard]] Result<PatternWithWindow> read_pattern(const PatternArguments& arguments);
/// Error: a negative length.
[[nodiscard]] Result<LayoutItem> read_item(const PatternArguments& arguments);

}  // namespace attnscope::cli
