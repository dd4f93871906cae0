#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The window: what `attnscope` opens when it is called without a sub-command.
//
//   return attnscope::gui::run_window(argc, argv, {});

#include <filesystem>
#include <memory>
#include <optional>

namespace attnscope::gui {

class PatternEditor;

struct WindowOptions {
  std::filesystem::path database;   // opened on a thread of its own; an .attn file opens read-only
  std::filesystem::path file = {};  // opened as soon as the store is: see file_kind.h
  bool start_quick_sweep = false;   // start the `quick` sweep as soon as the store is open
  std::shared_ptr<PatternEditor> patterns = {};  // of the window before, with edits and undo
};

/// What the command line asks of the window.
struct WindowArguments {
  std::optional<std::filesystem::path> database;  // none: the one that was open last
  std::filesystem::path file = {};
  bool start_quick_sweep = false;
};

/// Shows the window and returns its exit code when it is closed. Runs go on without it.
int run_window(int argc, char** argv, const WindowArguments& arguments);

/// What the window needs of its QApplication: names, icons, a font where the machine has none.
void prepare_application();

}  // namespace attnscope::gui
