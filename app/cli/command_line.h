#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The command line. Each sub-command adds itself to the CLI11 app and, when chosen,
// leaves its exit code in the session.

#include <fmt/format.h>

#include <atomic>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "engine/report/table.h"
#include "engine/store/store.h"

namespace CLI {
class App;
}  // namespace CLI

namespace attnscope::cli {

enum ExitCode : int {
  exit_done = 0,          // `unsupported` and `oom` cells are outcomes, not failures
  exit_cells_failed = 1,  // some cells wrong, crashed or timeout
  exit_wrong_use = 2,
  exit_store_refused = 3,
  exit_cancelled = 130,
};

/// State that the chosen sub-command leaves, and helpers that several sub-commands share.
struct Session {
  int exit_code = exit_done;
  std::string command_line;  // as typed, for provenance

  /// Prints "attnscope: SENTENCE" on stderr and keeps the code.
  void fail(int code, const std::string& sentence);
  /// Uses the exit code of wrong use, or of an interrupt once interrupted: the interrupt then
  /// caused the error.
  void fail(const Error& error);
};

/// Counts Ctrl-C (SIGINT), SIGTERM and SIGHUP from now on; they no longer end the process. SIGHUP
/// stays ignored if the program was started to outlive its terminal (nohup).
void catch_interrupts();
/// Number of interrupts since catch_interrupts().
[[nodiscard]] const std::atomic<int>& interrupts();

/// Validator of an option's value: "", or an error message if the value is not a number above 0.
/// CLI11's own message prints the largest double in full.
[[nodiscard]] std::string above_zero(const std::string& value);
[[nodiscard]] std::string zero_or_above(const std::string& value);

/// Adds --db; the returned path is the default database unless given.
void add_database_option(CLI::App& command, std::filesystem::path& database);

/// Opens "DATABASE_OR_ATTN:RUN" or "RUN" (then in `database`), read-only.
struct OpenRun {
  Store store;
  RunInfo run;
};
[[nodiscard]] Result<OpenRun> open_run(const std::string& text,
                                       const std::filesystem::path& database);

/// Arguments of `table` and `plot` that select the run to read.
struct TableArguments {
  std::string run = "last", baseline, only;
  std::filesystem::path database;
};
void add_table_arguments(CLI::App& command, TableArguments& arguments);
/// Adds --only, which may be repeated.
void add_only_option(CLI::App& command, std::string& only, const char* what);

/// The table that the arguments request; without one, the session has the error and the exit code.
[[nodiscard]] std::optional<report::Table> open_table(Session& session,
                                                      const TableArguments& arguments);

/// Prints a line to stderr. The line may contain names and words from files and other programs:
/// control characters and invisible characters are printed as '?', here and in results.
void status_line(std::string_view line);
/// Prints the text unchanged, without an end of line. Errors of stderr are ignored: nothing else
/// depends on them.
void print_to_terminal(const std::string& text);
template <typename... Values>
void say(fmt::format_string<Values...> format, Values&&... values) {
  status_line(fmt::format(format, std::forward<Values>(values)...));
}

/// Prints "attnscope: note: SENTENCE"; prints nothing if the sentence is empty.
void note(std::string_view sentence);

/// A file in the folder for temporary files; the destructor removes it.
class Scratch {
 public:
  Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_;
};

/// Writes results to stdout; a closed or full stdout is exit code 2 with a sentence.
void print_result(Session& session, const std::string& text);

// The sub-commands, in the order of --help.
void add_run_command(CLI::App& app, Session& session);
void add_pause_commands(CLI::App& app, Session& session);
void add_estimate_command(CLI::App& app, Session& session);
void add_list_command(CLI::App& app, Session& session);
void add_show_command(CLI::App& app, Session& session);
void add_table_command(CLI::App& app, Session& session);
void add_answer_command(CLI::App& app, Session& session);
void add_plot_command(CLI::App& app, Session& session);
void add_mask_command(CLI::App& app, Session& session);
void add_costs_command(CLI::App& app, Session& session);
void add_compare_command(CLI::App& app, Session& session);
void add_report_command(CLI::App& app, Session& session);
void add_describe_command(CLI::App& app, Session& session);
void add_trash_command(CLI::App& app, Session& session);
void add_export_command(CLI::App& app, Session& session);
void add_import_command(CLI::App& app, Session& session);
void add_attend_command(CLI::App& app, Session& session);
void add_encode_command(CLI::App& app, Session& session);
void add_score_command(CLI::App& app, Session& session);
void add_rerank_command(CLI::App& app, Session& session);
void add_train_command(CLI::App& app, Session& session);
void add_evaluate_command(CLI::App& app, Session& session);
void add_lengths_command(CLI::App& app, Session& session);
void add_profile_command(CLI::App& app, Session& session);
void add_latency_command(CLI::App& app, Session& session);
void add_inspect_command(CLI::App& app, Session& session);
void add_check_command(CLI::App& app, Session& session);
void add_check_store_command(CLI::App& app, Session& session);

}  // namespace attnscope::cli
