// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <memory>
#include <utility>

#include "app/cli/command_line.h"
#include "app/cli/worker_requests.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/report/sheet.h"
#include "engine/sweep/pause.h"
#include "engine/sweep/sweep.h"

namespace attnscope::cli {

namespace {

using nlohmann::json;

Result<json> list_patterns() {
  json rows = json::array();
  for (const AttentionPattern& pattern : built_in_patterns()) {
    rows.push_back({{"name", pattern.name},
                    {"title", pattern.title},
                    {"window", pattern.has_window()},
                    {"description", pattern.description}});
  }
  return rows;
}

Result<json> list_sweeps() {
  json rows = json::array();
  for (const NamedSweep& named : built_in_sweeps()) {
    auto sweep = parse_sweep(named.text, named.name);
    if (!sweep) return tl::unexpected(sweep.error());
    std::size_t cells = 0;
    for (const Heat& heat : sweep->heats) cells += heat.contenders.size();
    rows.push_back({{"name", named.name}, {"heats", sweep->heats.size()}, {"cells", cells}});
  }
  return rows;
}

Result<json> list_devices(const WorkerChoice& choice) {
  return start(choice).map(
      [](const WorkerProcess& worker) { return json(worker.hello().devices); });
}

Result<json> list_implementations(const WorkerChoice& choice) {
  return start(choice).map(
      [](const WorkerProcess& worker) { return as_json(worker.hello())["implementations"]; });
}

std::string local_time(std::int64_t unix_ms) {
  const auto seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm parts = {};
  // A damaged database may contain a time that is out of range.
  if (localtime_r(&seconds, &parts) == nullptr) return "unknown";
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}", std::int64_t{parts.tm_year} + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min);
}

/// The status in the store, except for a run that is paused or waits for another measurement.
std::string status_of(const Store& store, const RunInfo& run) {
  if (run.status == RunStatus::running) {
    const auto progress = store.progress(run.id);
    if (progress && *progress && is_paused(**progress)) return std::string(paused_words);
    if (progress && *progress && is_waiting(**progress)) return "waiting";
  }
  return std::string(name_of(run.status));
}

Result<json> list_runs(const std::filesystem::path& database, RunsOf which) {
  std::error_code unknown;  // an unreadable path is no database: the store reports it
  if (database == default_database() && !std::filesystem::exists(database, unknown))
    return json::array();
  auto store = Store::open(database, Store::Mode::read_only);
  if (!store) return tl::unexpected(store.error());
  if (!store->warning().empty()) print_status("attnscope: warning: {}", store->warning());
  auto runs = store->run_list(which);
  if (!runs) return tl::unexpected(runs.error());
  json rows = json::array();
  for (const RunInfo& run : *runs) {
    rows.push_back({{"run", run.number},
                    {"name", run.name},
                    {"sweep", run.start.sweep_name},
                    {"status", status_of(*store, run)},
                    {"heats", fmt::format("{}/{}", run.heats_done, run.start.heats_planned)},
                    {"started", local_time(run.started_unix_ms)},
                    {"device", run.start.device},
                    {"tags", tag_words(run.tag)},
                    {"note", run.note},
                    {"uuid", run.id.uuid}});
  }
  return rows;
}

std::string cell_text(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_null()) return "";
  if (value.is_array()) {
    std::string words;
    for (const json& element : value) words += (words.empty() ? "" : " ") + cell_text(element);
    return words;
  }
  return value.dump();
}

/// Leaves out columns that are empty in every row, unless all are.
std::vector<std::string> filled(const json& rows, const std::vector<std::string>& columns) {
  std::vector<std::string> some;
  for (const std::string& column : columns) {
    const bool any = std::any_of(rows.begin(), rows.end(), [&](const json& row) {
      return !cell_text(row.value(column, json())).empty();
    });
    if (any) some.push_back(column);
  }
  return some.empty() ? columns : some;
}

/// `columns` in the order to print.
std::string aligned(const json& rows, const std::vector<std::string>& columns) {
  report::Sheet sheet{.frame = report::SheetFrame::captioned};
  for (const std::string& column : columns) sheet.columns.push_back({column, column, false});
  for (const json& row : rows) {
    std::vector<report::SheetCell> cells;
    cells.reserve(columns.size());
    for (const std::string& column : columns)
      cells.emplace_back(cell_text(row.value(column, json())));
    sheet.add(std::move(cells));
  }
  return write_sheet(sheet, report::TableFormat::text);
}

struct Listing {
  std::string name;
  std::string words;
  std::vector<std::string> columns;
};

struct ListArguments {
  bool as_json = false, trash = false;
  std::filesystem::path database;
  WorkerChoice worker;
};

void list(Session& session, const Listing& listing, const ListArguments& arguments) {
  Result<json> rows =
      listing.name == "patterns" ? list_patterns()
      : listing.name == "sweeps" ? list_sweeps()
      : listing.name == "runs"
          ? list_runs(arguments.database, arguments.trash ? RunsOf::trash : RunsOf::list)
      : std::string_view(listing.name) == "devices" ? list_devices(arguments.worker)
                                                    : list_implementations(arguments.worker);
  if (!rows) {
    return session.fail(listing.name == "runs" ? exit_store_refused : exit_wrong_use,
                        rows.error().message);
  }
  if (arguments.as_json)
    return print_result(session, rows->dump(2, ' ', false, json::error_handler_t::replace) + "\n");
  if (rows->empty()) {
    if (arguments.trash) {
      print_status("The trash is empty.");
    } else {
      print_status("No {} yet.", listing.name);
    }
    return;
  }
  print_result(session, aligned(*rows, filled(*rows, listing.columns)));
}

}  // namespace

void add_list_command(CLI::App& app, Session& session) {
  CLI::App* command =
      app.add_subcommand("list", "List implementations, patterns, sweeps, devices or runs");
  command->require_subcommand(1);
  const std::vector<Listing> listings = {
      {"implementations",
       "List the attention implementations of the measuring process",
       {"id", "summary"}},
      {"patterns", "List the built-in attention patterns", {"name", "window", "description"}},
      {"sweeps", "List the built-in sweeps", {"name", "heats", "cells"}},
      {"devices",
       "List the devices of the measuring process",
       {"kind", "name", "available", "reason"}},
      {"runs",
       "List the runs in the database",
       {"run", "name", "sweep", "status", "heats", "started", "device", "tags", "uuid"}},
  };
  for (const Listing& listing : listings) {
    auto arguments = std::make_shared<ListArguments>();
    CLI::App* sub = command->add_subcommand(listing.name, listing.words);
    sub->add_flag("--json", arguments->as_json, "Print JSON");
    add_database_option(*sub, arguments->database);
    if (listing.name == "runs")
      sub->add_flag("--trash", arguments->trash, "List the runs in the trash");
    if (listing.name == "implementations" || listing.name == "devices") {
      add_worker_options(*sub, arguments->worker);
    }
    sub->callback([&session, listing, arguments] { list(session, listing, *arguments); });
  }
}

}  // namespace attnscope::cli
