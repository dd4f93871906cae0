#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What is printed about commands and options, all of it from the definitions that parse them: help
// in groups and with an example each, shell completion, man pages; and the names that were changed.

#include <string>
#include <vector>

#include "app/cli/command_line.h"

namespace attnscope::cli {

/// Sets the group and the example of every command, and adds `help`, `completion` and `manual`.
/// After all other commands.
void add_help(CLI::App& app, Session& session);

/// The arguments with former names of commands and options replaced by the current ones.
[[nodiscard]] std::vector<std::string> with_current_names(int argc, char** argv);

}  // namespace attnscope::cli
