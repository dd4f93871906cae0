#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The command line. Each sub-command adds itself to the CLI11 app and, when chosen, leaves its exit
// code in the session.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/report/table.h"
#include "engine/store/store.h"

namespace attnscope::cli {

/// Runs a whole command line; returns the process's exit code. Never opens the window.
int run_command_line(int argc, char** argv);

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

  /// Prints "attnscope: SENTENCE" on stderr and stores the exit code.
  void fail(int code, const std::string& sentence);
  /// Fails with the exit code of wrong use; after an interrupt, which then caused the error, with
  /// that of an interrupt.
  void fail(const Error& error);
};

/// Counts Ctrl-C (SIGINT), SIGTERM and SIGHUP from now on; they no longer end the process. SIGHUP
/// stays ignored if the program was started to outlive its terminal (nohup).
void catch_interrupts();
/// Number of interrupts since catch_interrupts().
[[nodiscard]] const std::atomic<int>& interrupts();

/// Validators of an option's value: "", or an error message if the value is not a number above 0
/// (or 0). CLI11's own message prints the largest double in full.
[[nodiscard]] std::string above_zero(const std::string& value);
[[nodiscard]] std::string zero_or_above(const std::string& value);

/// Adds an option; `type` names its value in the help ("FILE").
template <typename Value>
CLI::Option* add_option(CLI::App& command, const char* names, Value& value, const char* type,
                        std::string help) {
  return command.add_option(names, value, std::move(help))->type_name(type);
}
/// Adds an option whose value is a number above 0.
template <typename Value>
CLI::Option* add_count(CLI::App& command, const char* names, Value& value, std::string help) {
  return add_option(command, names, value, "N", std::move(help))->check(above_zero);
}

/// The command that the words name, each word a sub-command of the previous one.
[[nodiscard]] Result<const CLI::App*> find_command(const CLI::App& app,
                                                   const std::vector<std::string>& words);
/// All sub-commands, in the order of --help.
[[nodiscard]] std::vector<CLI::App*> commands_of(CLI::App& app);
[[nodiscard]] std::vector<const CLI::App*> commands_of(const CLI::App& app);

/// Adds --db; the returned path is the default database unless given.
void add_database_option(CLI::App& command, std::filesystem::path& database);

/// Adds --format, the format of a table.
void add_format_option(CLI::App& command, std::string& format);

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
void add_only_option(CLI::App& command, std::string& only, const char* help);
/// The filter of --only; empty without one.
[[nodiscard]] Result<OnlyFilter> filter_of(const std::string& only);

/// The table that the arguments request; if there is none, the session has the exit code.
[[nodiscard]] std::optional<report::Table> open_table(Session& session,
                                                      const TableArguments& arguments);

/// Prints a line to stderr. The line may contain text from files and other programs: control
/// characters and invisible characters are printed as '?', here and in results.
void status_line(std::string_view line);
/// Prints the text to stderr unchanged, without a line end. Write errors are ignored: nothing else
/// depends on them.
void print_to_terminal(const std::string& text);
template <typename... Values>
void print_status(fmt::format_string<Values...> format, Values&&... values) {
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

/// Writes results to stdout. If stdout is closed or full, the session fails with exit code 2.
void print_result(Session& session, const std::string& text);

// The sub-commands.
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
/// Sets the group and the example of every command, and adds `help`, `completion` and `manual`.
/// Call it after all other commands are added.
void add_help(CLI::App& app, Session& session);

/// The arguments, with former names of commands and options replaced by the current names.
[[nodiscard]] std::vector<std::string> with_current_names(int argc, char** argv);

}  // namespace attnscope::cli
