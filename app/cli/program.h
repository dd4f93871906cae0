#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The command line as a whole.

namespace attnscope::cli {

/// Runs a whole command line; returns the process's exit code. Never opens the window.
int run_command_line(int argc, char** argv);

}  // namespace attnscope::cli
