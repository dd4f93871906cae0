#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The window that `attnscope` opens when it is called without a sub-command.
//
//   return attnscope::gui::run_window(argc, argv, {});

#include <filesystem>
#include <optional>

namespace attnscope::gui {

/// Command-line arguments of the window.
struct WindowArguments {
  std::optional<std::filesystem::path> database;  // none: the last open one
  std::filesystem::path file = {};
  bool start_quick_sweep = false;
};

/// Shows the window and returns its exit code when it is closed. Runs continue without it.
int run_window(int argc, char** argv, const WindowArguments& arguments);

/// Sets up the QApplication: names, icons, and a font if the machine has none.
void prepare_application();

}  // namespace attnscope::gui
