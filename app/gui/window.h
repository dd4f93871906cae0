#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The window that `attnscope` opens when it is called without a sub-command.
//
//   return attnscope::gui::run_window(argc, argv, {});

#include <filesystem>
#include <memory>
#include <optional>

namespace attnscope::gui {

class PatternEditor;

struct WindowOptions {
  std::filesystem::path database;   // opened on a separate thread; an .attn file opens read-only
  std::filesystem::path file = {};  // opened once the store is open: see session/opened_files.h
  bool start_quick_sweep = false;   // start the `quick` sweep once the store is open
  std::shared_ptr<PatternEditor> patterns = {};  // of the previous window, with edits and undo
};

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
