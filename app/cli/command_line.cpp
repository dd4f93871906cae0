// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "attnscope/build_info.h"
#include "base/sentences.h"
#include "base/spawn.h"
#include "base/written_file.h"
#include "engine/report/number_text.h"
#include "engine/report/sheet.h"
#include "engine/store/location.h"

namespace attnscope::cli {

namespace {

std::atomic<int> interrupt_count = 0;

extern "C" void count_interrupt(int /*signal*/) {
  interrupt_count.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

void Session::fail(int code, const std::string& sentence) {
  print_status("attnscope: {}", report::one_line(sentence));
  exit_code = code;
}

void Session::fail(const Error& error) {
  if (interrupts() > 0) return fail(exit_cancelled, "interrupted");
  fail(exit_wrong_use, error.message);
}

const std::atomic<int>& interrupts() {
  return interrupt_count;
}

void catch_interrupts() {
  interrupt_count = 0;
  struct sigaction before {};
  struct sigaction action {};
  action.sa_handler = count_interrupt;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    sigaction(signal, nullptr, &before);
    if (signal != SIGHUP || before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
}

Scratch::Scratch() {
  std::error_code failed;
  const auto folder = std::filesystem::temp_directory_path(failed);
  name_ = (folder / "attnscope-XXXXXX").string();
  if (const int made = ::mkstemp(name_.data()); made >= 0) ::close(made);
}

Scratch::~Scratch() {
  ::unlink(name_.c_str());
}

namespace {

/// NaN unless the text is a finite number.
double number_in(const std::string& value) {
  double number = 0;
  const bool is_number = CLI::detail::lexical_cast(value, number) && std::isfinite(number);
  return is_number ? number : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

std::string above_zero(const std::string& value) {
  if (number_in(value) > 0) return "";
  return fmt::format("must be greater than 0, not '{}'", in_a_sentence(value));
}

std::string zero_or_above(const std::string& value) {
  if (number_in(value) >= 0) return "";
  return fmt::format("must be 0 or greater, not '{}'", in_a_sentence(value));
}

void add_database_option(CLI::App& command, std::filesystem::path& database) {
  database = default_database();
  add_option(command, "--db", database, "FILE", "Database file; default: the user's database");
}

void add_format_option(CLI::App& command, std::string& format) {
  add_option(command, "--format", format, "FORMAT",
             "Output format: " + report::table_format_words() + "; default: text");
}

Result<OpenRun> open_run(const std::string& text, const std::filesystem::path& database) {
  std::filesystem::path file = database;
  std::string name = text;
  const auto colon = text.rfind(':');
  if (colon != std::string::npos && colon > 0) {
    file = text.substr(0, colon);
    name = text.substr(colon + 1);
  } else if (std::error_code none;
             store::is_exported(text) && std::filesystem::exists(text, none)) {
    file = std::exchange(name, "last");  // most databases have one run
  }
  auto store = Store::open(file, Store::Mode::read_only);
  if (!store) return tl::unexpected(store.error());
  if (!store->warning().empty()) print_status("attnscope: warning: {}", store->warning());
  auto run = store->find_run(name);
  if (!run) return tl::unexpected(run.error());
  if (is_in_trash(*run)) {
    note(fmt::format("run {} is in the trash; {} restores it", run->number,
                     command_on(*run, "trash --restore")));
  }
  return OpenRun{std::move(*store), std::move(*run)};
}

void add_only_option(CLI::App& command, std::string& only, const char* help) {
  add_option(command, "--only", only, "KEY=VALUE,...", help)->join(',');
}

Result<OnlyFilter> filter_of(const std::string& only) {
  return only.empty() ? Result<OnlyFilter>() : parse_only(only);
}

void add_table_arguments(CLI::App& command, TableArguments& arguments) {
  add_option(command, "run", arguments.run, "RUN",
             "Run: number, UUID, name, 'last', or FILE.attn[.gz]:RUN; default: last");
  add_option(command, "--baseline", arguments.baseline, "CONTENDER",
             "Contender that the others are compared with");
  add_only_option(command, arguments.only, "Use only cells with these values; may be repeated");
  add_database_option(command, arguments.database);
}

std::optional<report::Table> open_table(Session& session, const TableArguments& arguments) {
  const auto refuse = [&session](int code, const Error& error) {
    session.fail(code, error.message);
    return std::nullopt;
  };
  const auto filter = filter_of(arguments.only);
  if (!filter) return refuse(exit_wrong_use, filter.error());
  auto open = open_run(arguments.run, arguments.database);
  if (!open) return refuse(exit_store_refused, open.error());
  std::optional<std::string_view> baseline;
  if (!arguments.baseline.empty()) baseline = arguments.baseline;
  auto table = report::make_table(open->store, open->run, baseline, *filter);
  if (!table) return refuse(exit_wrong_use, table.error());
  return std::move(*table);
}

void status_line(std::string_view line) {
  print_to_terminal(visible(line) + "\n");
}

void note(std::string_view sentence) {
  if (!sentence.empty()) print_status("attnscope: note: {}", sentence);
}

void print_to_terminal(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void print_result(Session& session, const std::string& result) {
  const std::string text = visible(result);
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) {
    session.fail(exit_wrong_use,
                 "could not write to standard output; is the disk full or the pipe closed?");
  }
}

namespace {

/// Joins the lines of a message: errors are one line.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
  return text;
}

/// Options that accept an empty value: text that is stored or scored unchanged.
constexpr std::array<std::string_view, 5> may_be_empty{"--name", "--tag", "--note", "--query",
                                                       "--document"};

/// "", or an error message for the value of an integer option; CLI11 would truncate a value that is
/// out of range and read 010 as octal.
std::string whole_number(const std::string& name, const std::string& value) {
  std::int64_t number = 0;
  const char* const end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, number);
  const bool is_octal = value.size() > 1 && value.front() == '0';
  if (error == std::errc() && rest == end && !is_octal) return "";
  return fmt::format("{}: '{}' is not a whole number from {} to {}", name, in_a_sentence(value),
                     std::numeric_limits<std::int64_t>::min(),
                     std::numeric_limits<std::int64_t>::max());
}

/// Parts of the type names of values that name input files.
constexpr std::array<std::string_view, 7> file_types{"FILE",    "DIR", "RUN",    "SWEEP",
                                                     "PATTERN", "CMD", "PROGRAM"};

bool may_name_files(std::string_view type) {
  return std::ranges::any_of(file_types, [type](std::string_view part) {
    return type.find(part) != std::string_view::npos;
  });
}

/// The words of a shell command may be file names, and a run's name may follow its file's name.
void note_files_in(const std::string& value, const std::string& type) {
  note_read(std::filesystem::path(value));
  std::vector<std::string> parts;
  if (type.starts_with("RUN")) parts.push_back(value.substr(0, value.rfind(':')));
  if (type == "CMD" || type == "PROGRAM") {
    std::istringstream words(value);
    for (std::string word; words >> word;) {
      std::erase_if(word, [](char c) { return c == '\'' || c == '"'; });
      parts.push_back(word);
    }
  }
  for (const std::string& part : parts) {
    std::error_code unknown;
    if (std::filesystem::exists(part, unknown)) note_read(std::filesystem::path(part));
  }
}

/// Records the value as an input file. Returns "", or an error if standard output writes to it.
std::string note_value(const std::string& name, const std::string& type, const std::string& value) {
  note_files_in(value, type);
  if (!is_read(STDOUT_FILENO)) return "";
  return fmt::format(
      "{}: '{}' is an input file, and standard output writes to it; redirect to another file", name,
      in_a_sentence(value));
}

/// Adds checks of values to all options. An explicit empty value is an error: it is not the same as
/// an omitted option.
void add_value_checks(CLI::App& app) {
  for (CLI::App* command : commands_of(app)) {
    for (CLI::Option* option : command->get_options()) {
      const std::string name = option->get_name(), type = option->get_type_name();
      if (type == "N" || type == "N,...") {
        option->check(CLI::Validator(
            [name](const std::string& value) { return whole_number(name, value); }, ""));
      }
      if (option->get_expected_max() > 0 && name != "--output" && may_name_files(type)) {
        option->check(CLI::Validator(
            [name, type](const std::string& value) { return note_value(name, type, value); }, ""));
      }
      if (option->get_expected_max() == 0 ||
          std::ranges::find(may_be_empty, name) != may_be_empty.end())
        continue;
      option->check(CLI::Validator(
          [name](const std::string& value) {
            return value.empty() ? name + " is empty; give it a value or leave it out" : "";
          },
          ""));
    }
  }
}

std::string joined(int argc, char** argv) {
  std::string text = "attnscope";
  for (int i = 1; i < argc; ++i) text += " " + shell_word(argv[i]);
  return text;
}

/// Checks the sub-command; CLI11 would report a misspelt one as missing.
Status check_command(const CLI::App& app, const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front().starts_with('-')) return {};
  const std::string& word = arguments.front();
  const auto command = find_command(app, {word});
  if (command) return {};
  if (std::filesystem::path(word).has_extension())
    return fail("there is no file '{}', and no command of that name", word);
  return tl::unexpected(command.error());
}

}  // namespace

int run_command_line(int argc, char** argv) {
  Session session;
  session.command_line = joined(argc, argv);
  CLI::App app(
      "Compares attention implementations for re-rankers; scores, ranks and trains with them.\n"
      "Without a command, attnscope opens its window.",
      "attnscope");
  app.set_version_flag("--version", std::string("attnscope ") + ATTNSCOPE_VERSION + " (" +
                                        ATTNSCOPE_GIT_COMMIT + ")");
  app.require_subcommand(1);
  app.option_defaults()->always_capture_default(false);
  // The order is that of --help.
  add_run_command(app, session);
  add_estimate_command(app, session);
  add_pause_commands(app, session);
  add_answer_command(app, session);
  add_table_command(app, session);
  add_plot_command(app, session);
  add_compare_command(app, session);
  add_report_command(app, session);
  add_score_command(app, session);
  add_rerank_command(app, session);
  add_encode_command(app, session);
  add_evaluate_command(app, session);
  add_latency_command(app, session);
  add_profile_command(app, session);
  add_lengths_command(app, session);
  add_train_command(app, session);
  add_inspect_command(app, session);
  add_attend_command(app, session);
  add_show_command(app, session);
  add_describe_command(app, session);
  add_export_command(app, session);
  add_import_command(app, session);
  add_trash_command(app, session);
  add_check_store_command(app, session);
  add_list_command(app, session);
  add_mask_command(app, session);
  add_costs_command(app, session);
  add_check_command(app, session);
  add_help(app, session);
  add_value_checks(app);
  note_read(STDIN_FILENO);
  std::vector<std::string> arguments = with_current_names(argc, argv);
  constexpr std::string_view usage = "; attnscope --help shows the usage.";
  if (const Status known = check_command(app, arguments); !known) {
    session.fail(exit_wrong_use, fmt::format("{}{}", known.error().message, usage));
    return session.exit_code;
  }
  try {
    std::ranges::reverse(arguments);  // CLI11 expects reverse order
    app.parse(std::move(arguments));
  } catch (const CLI::Success& request) {
    std::ostringstream requested;  // --help, --version
    static_cast<void>(app.exit(request, requested, requested));
    print_result(session, requested.str());
  } catch (const CLI::ExtrasError&) {
    // The order is that of the command line, which CLI11's message reverses.
    constexpr std::size_t longest = 250;
    const std::vector<std::string> extras = app.remaining(true);
    session.fail(
        exit_wrong_use,
        fmt::format("the following argument{} not expected: {}{}",
                    extras.size() == 1 ? " was" : "s were",
                    in_a_sentence(fmt::format("{}", fmt::join(extras, " ")), longest), usage));
  } catch (const CLI::ParseError& error) {
    constexpr std::size_t longest = 300;
    session.fail(exit_wrong_use, fmt::format("{}{}", in_a_sentence(error.what(), longest), usage));
  } catch (const nlohmann::json::exception& error) {
    // Files are read by read_json, which does not throw: the exception comes from a worker's
    // answer.
    session.fail(exit_wrong_use,
                 fmt::format("the measuring process sent a field of an unexpected type ({}); build "
                             "it from the same version as this program",
                             one_line(error.what())));
  }
  return session.exit_code;
}

}  // namespace attnscope::cli
