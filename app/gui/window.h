#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The window: what `attnscope` opens when it is called without a sub-command.
//
//   return attnscope::gui::run_window(argc, argv, {.database = default_database()});

#include <filesystem>

namespace attnscope::gui {

struct WindowOptions {
  std::filesystem::path database;  // opened on a thread of its own; an .attn file opens read-only
  bool start_quick_sweep = false;  // start the `quick` sweep as soon as the store is open
};

/// Shows the window and returns its exit code when it is closed. Runs go on without it.
int run_window(int argc, char** argv, const WindowOptions& options);

/// What the window needs of its QApplication: names, icons, a font where the machine has none.
void prepare_application();

}  // namespace attnscope::gui
