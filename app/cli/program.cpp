// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "app/cli/command_line.h"
#include "app/cli/help.h"
#include "attnscope/build_info.h"
#include "base/sentences.h"
#include "base/spawn.h"
#include "base/written_file.h"

namespace attnscope::cli {
namespace {

/// Joins the lines of a CLI11 message: errors are one line.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
  return text;
}

/// Options that accept an empty value: texts that are stored or scored unchanged.
constexpr std::array<std::string_view, 5> may_be_empty{"--name", "--tag", "--note", "--query",
                                                       "--document"};

/// "", or what is wrong with the value of an integer option; CLI11 would truncate a value that is
/// out of range and read 010 as octal.
std::string whole_number(const std::string& name, const std::string& value) {
  std::int64_t number = 0;
  const char* const end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, number);
  const bool is_octal = value.size() > 1 && value.front() == '0';
  if (error == std::errc() && rest == end && !is_octal) return "";
  return fmt::format("{}: '{}' is no whole number from {} to {}", name, in_a_sentence(value),
                     std::numeric_limits<std::int64_t>::min(),
                     std::numeric_limits<std::int64_t>::max());
}

/// Value types that are not file names. A value of any other type counts as an input file.
constexpr std::array<std::string_view, 30> words_alone{
    "A",      "AXIS", "CONTENDER", "D",     "DEVICE",   "DIRECTION",    "DPI",   "DTYPE",
    "FORMAT", "ID",   "K",         "KEY",   "L",        "LABEL",        "M",     "MM",
    "MS",     "N",    "N,...",     "NAME",  "NAME,...", "PT",           "STYLE", "TAG",
    "TEXT",   "W",    "WHICH",     "WIDTH", "X",        "KEY=VALUE,..."};

/// The words of a command may be file names, and a run's name may follow its file's name.
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

/// Notes every value except an output as an input. "", or an error if standard output writes into
/// an input.
std::string note_value(const std::string& name, const std::string& type, const std::string& value) {
  note_files_in(value, type);
  if (!is_read(STDOUT_FILENO)) return "";
  return fmt::format("{}: '{}' is read, and standard output writes into it; let it write elsewhere",
                     name, in_a_sentence(value));
}

/// An option with an explicit empty value is an error: it is not the same as an omitted option.
void refuse_unreadable_values(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    for (CLI::Option* option : command->get_options()) {
      const std::string name = option->get_name(), type = option->get_type_name();
      if (type == "N" || type == "N,...") {
        option->check(CLI::Validator(
            [name](const std::string& value) { return whole_number(name, value); }, ""));
      }
      if (option->get_expected_max() > 0 && name != "--output" &&
          std::ranges::find(words_alone, type) == words_alone.end()) {
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

/// CLI11 reports a misspelt sub-command as a missing one; this message names it and the nearest.
std::string unknown_command(const CLI::App& app, const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front().starts_with('-')) return "";
  const std::string& word = arguments.front();
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  if (std::ranges::find(names, word) != names.end()) return "";
  const std::vector<std::string_view> known(names.begin(), names.end());
  if (std::filesystem::path(word).has_extension())
    return fmt::format("there is no file '{}', and no command of that name", word);
  return fmt::format("there is no command '{}'; {}", word, suggest(word, known));
}

}  // namespace

int run_command_line(int argc, char** argv) {
  Session session;
  session.command_line = joined(argc, argv);
  CLI::App app(
      "Compares attention implementations for re-rankers; scores, ranks and trains with them.\n"
      "Without a command, the window opens.",
      "attnscope");
  app.set_version_flag("--version", std::string("attnscope ") + ATTNSCOPE_VERSION + " (" +
                                        ATTNSCOPE_GIT_COMMIT + ")");
  app.require_subcommand(1);
  app.option_defaults()->always_capture_default(false);
  // In the order of --help.
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
  refuse_unreadable_values(app);
  note_read(STDIN_FILENO);
  std::vector<std::string> arguments = with_current_names(argc, argv);
  if (const std::string unknown = unknown_command(app, arguments); !unknown.empty()) {
    session.fail(exit_wrong_use, unknown + "; attnscope --help shows the usage.");
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
    // In the order of the command line, which CLI11's message reverses.
    constexpr std::size_t longest = 250;
    const std::vector<std::string> extras = app.remaining(true);
    session.fail(exit_wrong_use,
                 fmt::format("the following argument{} not expected: {}; attnscope --help shows "
                             "the usage.",
                             extras.size() == 1 ? " was" : "s were",
                             in_a_sentence(fmt::format("{}", fmt::join(extras, " ")), longest)));
  } catch (const CLI::ParseError& error) {
    constexpr std::size_t longest = 300;
    session.fail(exit_wrong_use,
                 in_a_sentence(error.what(), longest) + "; attnscope --help shows the usage.");
  } catch (const nlohmann::json::exception& error) {
    // Files are read by read_json, which does not throw: the exception comes from a worker's
    // answer.
    session.fail(exit_wrong_use,
                 fmt::format("the measuring process answered with a field of another kind than the "
                             "protocol's ({}); build it from this program's version",
                             one_line(error.what())));
  }
  return session.exit_code;
}

}  // namespace attnscope::cli
