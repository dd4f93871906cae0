// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/cli/command_line.h"
#include "base/written_file.h"
#include "engine/report/report_page.h"

namespace attnscope::cli {

namespace {

struct ReportCommand {
  std::vector<std::string> runs;
  std::string baseline, only;
  std::filesystem::path file, database;
  bool force = false;
};

/// Opens each run once; nothing if a run is unknown, and the session has the error.
std::optional<std::vector<OpenRun>> open_runs(Session& session, const ReportCommand& arguments) {
  std::vector<OpenRun> open;
  for (const std::string& text : arguments.runs) {
    auto run = open_run(text, arguments.database);
    if (!run) {
      session.fail(exit_store_refused, run.error().message);
      return std::nullopt;
    }
    const bool is_known = std::ranges::any_of(
        open, [&](const OpenRun& other) { return other.run.id == run->run.id; });
    if (is_known) {
      session.fail(exit_wrong_use,
                   fmt::format("{} is a run that was named before; name every run once", text));
      return std::nullopt;
    }
    open.push_back(std::move(*run));
  }
  return open;
}

void report_runs(Session& session, const ReportCommand& arguments) {
  const auto refuse = [&session](const Error& error) {
    session.fail(exit_wrong_use, error.message);
  };
  const std::string extension = arguments.file.extension().string();
  const bool is_page = extension == ".html" || extension == ".htm";
  if (!is_page && !is_stream(arguments.file)) {
    return session.fail(exit_wrong_use,
                        fmt::format("{}: a report is a page for a browser; give it a name that "
                                    "ends in .html",
                                    arguments.file.string()));
  }
  const auto filter = arguments.only.empty() ? Result<OnlyFilter>() : parse_only(arguments.only);
  if (!filter) return refuse(filter.error());
  const auto open = open_runs(session, arguments);
  if (!open) return;
  if (Status allowed = may_be_written(arguments.file, {}, Streams::allowed); !allowed)
    return refuse(allowed.error());
  if (std::error_code unknown; !arguments.force && !is_stream(arguments.file) &&
                               std::filesystem::exists(arguments.file, unknown)) {
    return session.fail(exit_wrong_use,
                        fmt::format("{} already exists and is not overwritten; remove it or name "
                                    "another file; --force replaces it",
                                    arguments.file.string()));
  }
  std::optional<std::string_view> baseline;
  if (!arguments.baseline.empty()) baseline = arguments.baseline;
  std::vector<report::ReportedRun> runs;
  runs.reserve(open->size());
  for (const OpenRun& opened : *open) {
    auto run = report::read_for_report(opened.store, opened.run, baseline, *filter);
    if (!run) return refuse(run.error());
    runs.push_back(std::move(*run));
  }
  std::vector<report::StoredTable> tables;
  tables.reserve(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i)
    tables.push_back({.store = &(*open)[i].store, .table = &runs[i].table});
  const auto histories = report::make_histories(tables);
  if (!histories) return refuse(histories.error());
  if (Status written =
          write_file(arguments.file, report::write_report(runs, *histories), Streams::allowed);
      !written) {
    return refuse(written.error());
  }
  say("{} written", arguments.file.string());
}

}  // namespace

void add_report_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<ReportCommand>();
  CLI::App* command = app.add_subcommand(
      "report", "Write runs as one HTML page: verdicts, charts, tables, provenance");
  command->footer(
      "The page needs no other file and fetches nothing. Several runs of one sweep on one machine "
      "are also shown as a history over their commits.");
  command->add_option("runs", arguments->runs, "Numbers, UUIDs, 'last', or FILE.attn[.gz]:RUN")
      ->type_name("RUN")
      ->required();
  command->add_option("-o,--output", arguments->file, "HTML file to write")
      ->type_name("F.html")
      ->required();
  command
      ->add_option("--baseline", arguments->baseline, "Contender that the others are compared with")
      ->type_name("CONTENDER");
  command->add_flag("--force", arguments->force, "Replace an existing file");
  add_only_option(*command, arguments->only, "Use only cells with these values");
  add_database_option(*command, arguments->database);
  command->callback([&session, arguments] { report_runs(session, *arguments); });
}

}  // namespace attnscope::cli
