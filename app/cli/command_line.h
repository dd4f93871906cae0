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

#include "engine/report/table.h"
#include "engine/store/store.h"
#include "kernels/base/result.h"

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

/// What the chosen sub-command leaves behind, and what several of them share.
struct Session {
  int exit_code = exit_done;
  std::string command_line;  // as typed, for provenance

  /// Prints "attnscope: SENTENCE" on stderr and keeps the code.
  void fail(int code, const std::string& sentence);
  /// Of wrong use; or that it was interrupted, since what goes wrong then comes from that.
  void fail(const Error& error);
};

/// Runs a whole command line; returns the process's exit code. Never opens the window.
int run_command_line(int argc, char** argv);

/// From now on Ctrl-C, a plain kill and the terminal's end are counted and end nothing by
/// themselves; the last is not where the program was started to outlive its terminal (nohup).
void catch_interrupts();
/// So many since then.
[[nodiscard]] const std::atomic<int>& interrupts();

/// Of an option's value: "", or what is wrong with one that is no number above 0. CLI11's own words
/// name the largest double in full.
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

/// What `table` and `plot` are told about the run to read.
struct TableArguments {
  std::string run = "last", baseline, only;
  std::filesystem::path database;
};
void add_table_arguments(CLI::App& command, TableArguments& arguments);
/// --only, which may be given several times.
void add_only_option(CLI::App& command, std::string& only, const char* what);

/// The table those arguments ask for; when there is none, the session has the reason and the code.
[[nodiscard]] std::optional<report::Table> open_table(Session& session,
                                                      const TableArguments& arguments);

/// A line on stderr. Names and words from files and other programs may be in it: what a terminal
/// would obey, and what nobody sees, is shown as '?', here and in results.
void say_line(std::string_view line);
/// The same without an end of line, as it is. What stderr does not take is lost: nothing else
/// depends on it.
void print_to_terminal(const std::string& text);
template <typename... Values>
void say(fmt::format_string<Values...> format, Values&&... values) {
  say_line(fmt::format(format, std::forward<Values>(values)...));
}

/// "attnscope: note: SENTENCE"; nothing of an empty one.
void note(std::string_view sentence);

/// A file in the folder for temporary files, which goes with this object.
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
