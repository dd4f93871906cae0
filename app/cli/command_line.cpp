// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/sentences.h"
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

}  // namespace attnscope::cli
