#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Output about commands and options, generated from the definitions that parse them: grouped help
// with an example for each command, shell completion, man pages; and former names of options.

#include <string>
#include <vector>

#include "app/cli/command_line.h"

namespace attnscope::cli {

/// Sets the group and the example of every command, and adds `help`, `completion` and `manual`.
/// Call it after all other commands are added.
void add_help(CLI::App& app, Session& session);

/// The arguments with former names of commands and options replaced by the current ones.
[[nodiscard]] std::vector<std::string> with_current_names(int argc, char** argv);

}  // namespace attnscope::cli
