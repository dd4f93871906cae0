// SPDX-License-Identifier: GPL-3.0-or-later
//
// attnscope: without arguments (or with only --db, --quick-sweep and a file) the window; with a
// sub-command the command line, which needs no display.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

#include "app/cli/command_line.h"
#include "app/gui/window.h"

namespace {

using attnscope::cli::exit_wrong_use;
using attnscope::gui::WindowArguments;

/// A path, not a sub-command: what a desktop hands over for a double click.
bool is_file(std::string_view argument) {
  std::error_code error;
  return argument.find_first_of("./") != std::string_view::npos &&
         std::filesystem::is_regular_file(argument, error);
}

/// The arguments when they ask for the window and nothing else.
std::optional<WindowArguments> window_arguments(int argc, char** argv) {
  WindowArguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--quick-sweep") {
      arguments.start_quick_sweep = true;
    } else if (argument == "--db" && i + 1 < argc) {
      arguments.database = argv[++i];
    } else if (arguments.file.empty() && is_file(argument)) {
      arguments.file = argument;
    } else {
      return std::nullopt;
    }
  }
  return arguments;
}

#ifdef ATTNSCOPE_HAS_GUI

bool has(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

int open_window(int argc, char** argv, const WindowArguments& arguments) {
  if (!has("DISPLAY") && !has("WAYLAND_DISPLAY") && !has("QT_QPA_PLATFORM")) {
    fmt::print(stderr,
               "attnscope: there is no display for the window (DISPLAY is not set); 'attnscope run "
               "quick' and "
               "'attnscope table last' work without one, and attnscope --help lists the rest.\n");
    return exit_wrong_use;
  }
  return attnscope::gui::run_window(argc, argv, arguments);
}

#else

int open_window(int, char**, const WindowArguments&) {
  fmt::print(
      stderr,
      "attnscope: this build has no window (it was made without Qt); attnscope --help lists the "
      "commands.\n");
  return exit_wrong_use;
}

#endif

/// A file that is opened gets the first free number: one of the standard three, where whoever
/// started this closed it, would have messages written into it. What is opened here takes nothing
/// either.
void keep_standard_streams() {
  int opened = open("/dev/null", O_RDONLY | O_CLOEXEC);
  while (opened >= 0 && opened <= STDERR_FILENO) opened = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (opened >= 0) close(opened);
}

/// Threads get stacks of the limit's size, and the measuring process inherits it: computing with
/// too small a stack ends in a segmentation fault. False, with a message, below the least.
bool has_enough_stack() {
  constexpr rlim_t least_bytes = rlim_t{512} << 10U;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= least_bytes) return true;
  fmt::print(stderr,
             "attnscope: the stack is limited to {} KiB, and {} are needed; ulimit -s 8192 raises "
             "the limit\n",
             limit.rlim_cur >> 10U, least_bytes >> 10U);
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  keep_standard_streams();
  if (!has_enough_stack()) return exit_wrong_use;
  // A file that may not grow is an error of the writing, with its sentence, not the program's end.
  std::signal(SIGXFSZ, SIG_IGN);
  if (const auto arguments = window_arguments(argc, argv))
    return open_window(argc, argv, *arguments);
  return attnscope::cli::run_command_line(argc, argv);
}
