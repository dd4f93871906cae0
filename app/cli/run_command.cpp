// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "app/cli/command_line.h"
#include "app/cli/slurm_run.h"
#include "app/cli/worker_requests.h"
#include "engine/report/compare.h"
#include "engine/report/provenance.h"
#include "engine/report/table.h"
#include "engine/sweep/driver.h"
#include "engine/sweep/pause.h"
#include "engine/sweep/run_plan.h"

namespace attnscope::cli {

namespace {

struct RunCommandArguments {
  std::string sweep, resume, again, only;
  WorkerChoice worker;
  bool quiet = false, events = false, now = false, oversize = false;
  std::vector<std::string> slurm;
  bool slurm_dry_run = false;
  std::filesystem::path database;
};

std::atomic<bool> pause_requested{false};

extern "C" void note_pause(int, siginfo_t* signal, void*) {
  if (const auto request = pause_request(*signal))
    pause_requested.store(request == PauseRequest::pause, std::memory_order_relaxed);
}

void catch_signals() {
  pause_requested = false;
  catch_interrupts();
  struct sigaction action = {};
  action.sa_sigaction = note_pause;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(pause_signal(), &action, nullptr);
}

Result<Sweep> narrowed(Result<Sweep> sweep, const RunCommandArguments& arguments) {
  if (!sweep || arguments.only.empty()) return sweep;
  auto filter = parse_only(arguments.only);
  if (!filter) return tl::unexpected(filter.error());
  return only(*sweep, *filter);
}

Result<Sweep> chosen_sweep(const RunCommandArguments& arguments,
                           const std::optional<OpenRun>& first) {
  if (first) return narrowed(stored_sweep(first->run), arguments);
  if (arguments.sweep.empty()) return Sweep{};
  return narrowed(load_sweep(arguments.sweep), arguments);
}

/// Checks that exactly one option selects what to run.
Status check_choice(const RunCommandArguments& arguments) {
  if (arguments.sweep.empty() && arguments.resume.empty() && arguments.again.empty()) {
    return fail(
        "run needs a sweep (a file, or a name from 'attnscope list sweeps'), --resume RUN or "
        "--again RUN.");
  }
  if (!arguments.again.empty() && !(arguments.sweep.empty() && arguments.resume.empty())) {
    return fail("--again RUN repeats the sweep of that run; remove the sweep and --resume.");
  }
  if (!arguments.resume.empty() && !arguments.only.empty()) {
    return fail("--only cannot change a run that is resumed; remove it.");
  }
  if (arguments.slurm_dry_run && arguments.slurm.empty()) {
    return fail("--slurm-dry-run shows what --slurm would submit; add --slurm KEY=VALUE,...");
  }
  if (!arguments.slurm.empty() && (arguments.events || !arguments.again.empty())) {
    return fail("--slurm only submits jobs and excludes --events and --again; remove them.");
  }
  if (!arguments.slurm.empty() && arguments.now) {
    return fail("--slurm only submits jobs, and the tasks of a node take turns; remove --now.");
  }
  if (!arguments.slurm.empty() && !arguments.sweep.empty() && !arguments.resume.empty()) {
    return fail(
        "--slurm submits either a sweep or the missing heats of a run; remove the sweep or "
        "--resume.");
  }
  return {};
}

void run_by_slurm(Session& session, const RunCommandArguments& arguments) {
  const SlurmArguments slurm{.options = arguments.slurm,
                             .dry_run = arguments.slurm_dry_run,
                             .quiet = arguments.quiet,
                             .worker = arguments.worker,
                             .database = arguments.database};
  if (!arguments.resume.empty()) return send_rest_to_slurm(session, slurm, arguments.resume);
  const Result<Sweep> sweep = chosen_sweep(arguments, std::nullopt);
  if (!sweep) return session.fail(sweep.error());
  std::error_code none;
  const std::filesystem::path file = arguments.sweep;
  send_to_slurm(session, slurm, *sweep,
                std::filesystem::is_regular_file(file, none)
                    ? std::filesystem::absolute(file).parent_path()
                    : std::filesystem::current_path());
}

/// Printed at the start, so that the user need not wait for a comparison of limited value.
void warn_of_differences(const RunInfo& first, const Store& store, const RunEvent& started,
                         bool as_events) {
  const auto now = store.find_run(started.run.uuid);
  if (!now) return;
  for (const std::string& difference : report::differences(first, *now)) {
    RunEvent warning = started;
    warning.kind = RunEvent::Kind::warning;
    warning.text =
        fmt::format("different from run {} (A: then, B: now): {}", first.number, difference);
    if (as_events) static_cast<void>(print_event(warning));
    print_status("attnscope: warning: {}", warning.text);
  }
}

void print_comparison(Session& session, const OpenRun& first, const Store& store,
                      const RunInfo& run) {
  const auto comparison = report::compare_runs(first.store, first.run, store, run);
  if (!comparison) return session.fail(exit_store_refused, comparison.error().message);
  print_result(session, report::write_comparison(*comparison));
}

/// The first reason if no cell of the run has a time; empty if one has.
std::string nothing_was_measured(const Store& store, const RunInfo& run) {
  const auto cells = store.cells(run.id, false);
  if (!cells || cells->empty() || std::ranges::any_of(*cells, [](const StoredCell& cell) {
        return cell.cell.status == CellStatus::ok;
      }))
    return {};
  const Cell& first = cells->front().cell;
  return fmt::format("{} is {}: {}", first.contender.name, name_of(first.status), first.reason);
}

void report_outcome(Session& session, const RunCommandArguments& arguments,
                    const RunOutcome& outcome, const std::optional<OpenRun>& first) {
  for (const std::string& failure : outcome.failures) print_status("{}", failure);
  if (!outcome.store_refusal.empty()) {
    return session.fail(exit_store_refused, outcome.store_refusal);
  }
  if (outcome.cells_failed > 0) session.exit_code = exit_cells_failed;
  if (outcome.status == RunStatus::cancelled) session.exit_code = exit_cancelled;
  auto store = Store::open(arguments.database, Store::Mode::read_only);
  if (!store) return session.fail(exit_store_refused, store.error().message);
  auto run = store->find_run(outcome.run.uuid);
  if (!run) return session.fail(exit_store_refused, run.error().message);
  if (first) {
    if (!arguments.events) print_comparison(session, *first, *store, *run);
  } else if (!arguments.quiet && !arguments.events) {
    if (auto table = report::make_table(*store, *run, std::nullopt, {})) {
      print_result(session, report::write_table(*table, report::TableFormat::text));
    }
  }
  const bool has_rest = outcome.status == RunStatus::cancelled;
  if (has_rest) {
    print_status("run {} is cancelled; {} measures the rest", run->number,
                 command_on(*run, "run --resume"));
  }
  if (arguments.quiet || has_rest) return;
  if (const std::string nothing = nothing_was_measured(*store, *run); !nothing.empty()) {
    print_status("run {} is {}, without a time: {}", run->number, name_of(outcome.status), nothing);
  } else {
    print_status("run {} is {}; {}, {}", run->number, name_of(outcome.status),
                 command_on(*run, "table", "--baseline CONTENDER"),
                 command_on(*run, "plot", "-o FIGURE.pdf"));
  }
}

void run(Session& session, const RunCommandArguments& arguments) {
  if (Status chosen = check_choice(arguments); !chosen) {
    return session.fail(chosen.error());
  }
  if (!arguments.slurm.empty()) return run_by_slurm(session, arguments);
  std::optional<OpenRun> first;  // of --again
  if (!arguments.again.empty()) {
    auto open = open_run(arguments.again, arguments.database);
    if (!open) return session.fail(exit_store_refused, open.error().message);
    first = std::move(*open);
  }
  const Result<Sweep> sweep = chosen_sweep(arguments, first);
  if (!sweep) return session.fail(sweep.error());

  catch_signals();
  ProgressLine progress(!arguments.quiet && !arguments.events);
  DriverOptions options;
  options.worker_command = arguments.worker.command;
  options.with = arguments.worker.with;
  options.command_line = session.command_line;
  if (first) options.again_of = first->run;
  options.cancel = &interrupts();
  options.pause = &pause_requested;
  options.now = arguments.now;
  options.oversize = arguments.oversize;
  const auto refuse = [&](const Error& error) {
    session.fail(interrupts() > 0 ? exit_cancelled : exit_wrong_use, error.message);
  };
  std::optional<PreparedRun> prepared;
  const auto prepare = [&] {
    auto ready = prepare_run(*sweep, options);
    if (ready) {
      prepared = std::move(*ready);
    } else {
      refuse(ready.error());
    }
    return ready.has_value();
  };
  // A run that cannot start leaves no empty database.
  std::error_code none;
  const bool begins = arguments.resume.empty();
  const bool is_new = !std::filesystem::exists(arguments.database, none);
  if (begins && is_new && !prepare()) return;
  auto store =
      Store::open(arguments.database, begins ? Store::Mode::read_write : Store::Mode::existing);
  if (!store) return session.fail(exit_store_refused, store.error().message);
  if (begins && !is_new && !prepare()) return;
  if (!store->warning().empty()) print_status("attnscope: warning: {}", store->warning());
  bool events_lost = false;
  options.on_event = [&](const RunEvent& event) {
    progress.show(event);
    if (event.kind == RunEvent::Kind::cancelling && !arguments.quiet) {
      progress.clear();
      print_status("attnscope: {}; press Ctrl-C again to end immediately", event.text);
    }
    if (event.kind == RunEvent::Kind::waiting && !arguments.quiet) {
      progress.clear();
      print_status("attnscope: {}; {}", event.text, other_ways_than_waiting);
    }
    if (event.kind == RunEvent::Kind::paused && !arguments.quiet) {
      progress.clear();
      print_status("attnscope: paused; 'attnscope continue {}{}' continues the run",
                   event.run.uuid.substr(0, 8), database_option(store->file()));
    }
    if (event.kind == RunEvent::Kind::warning) {
      progress.clear();
      print_status("attnscope: warning: {}", event.text);
    }
    if (arguments.events && !print_event(event)) events_lost = true;
    if (first && event.kind == RunEvent::Kind::started && !arguments.quiet) {
      warn_of_differences(first->run, *store, event, arguments.events);
    }
  };

  Result<RunOutcome> outcome;
  if (begins) {
    outcome = run_sweep(std::move(*prepared), *store, options);
  } else {
    auto earlier = store->find_run(arguments.resume);
    if (!earlier) return session.fail(exit_wrong_use, earlier.error().message);
    if (!arguments.sweep.empty() && sweep->name != earlier->start.sweep_name) {
      return session.fail(
          exit_wrong_use,
          fmt::format("run {} belongs to the sweep '{}', not '{}'; resume it without a sweep.",
                      earlier->number, earlier->start.sweep_name, sweep->name));
    }
    if (was_sent_to_slurm(*earlier)) {
      if (!bring_in_from_slurm(session, *store, *earlier)) return;
      earlier = store->find_run(earlier->id.uuid);
      if (!earlier) return session.fail(exit_store_refused, earlier.error().message);
      if (earlier->status == RunStatus::done) {
        return print_status("run {} already has all its heats; nothing is measured",
                            earlier->number);
      }
    }
    outcome = resume_run(*earlier, *store, options);
  }
  progress.clear();
  if (!outcome) return refuse(outcome.error());
  report_outcome(session, arguments, *outcome, first);
  if (events_lost && session.exit_code == 0) {
    session.fail(exit_wrong_use,
                 "some events could not be written to standard output; the run itself is complete "
                 "in the database");
  }
}

}  // namespace

void add_run_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<RunCommandArguments>();
  CLI::App* command = app.add_subcommand("run", "Measure a sweep and store the results");
  add_option(*command, "sweep", arguments->sweep, "SWEEP", "Sweep: JSON file or built-in name");
  add_option(*command, "--resume", arguments->resume, "RUN",
             "Continue an interrupted run: number, UUID, name or 'last'");
  add_option(*command, "--again", arguments->again, "RUN",
             "Repeat a stored run as a new run and compare both: number, UUID, name, 'last' or "
             "FILE.attn[.gz]:RUN");
  add_only_option(*command, arguments->only,
                  "Measure only heats and contenders with these values; may be repeated");
  command->add_flag("--quiet", arguments->quiet,
                    "Print neither progress nor table; with --again, print only the comparison");
  command->add_flag("--events", arguments->events,
                    "Print progress events as JSON lines to standard output");
  add_worker_options(*command, arguments->worker);
  add_now_option(*command, arguments->now);
  command->add_flag(
      "--oversize", arguments->oversize,
      "Start even if an item needs more than the machine's memory; its cells are reported as oom");
  add_option(*command, "--slurm", arguments->slurm, "KEY=VALUE,...",
             "Measure with a Slurm job array: array=N sets the number of tasks, dir=FOLDER sets "
             "the folder of their files, and other keys are long options of sbatch; with --resume, "
             "measure only missing heats")
      ->expected(1)
      ->take_all();
  command->add_flag("--slurm-dry-run", arguments->slurm_dry_run,
                    "Print what --slurm would submit without submitting it");
  add_database_option(*command, arguments->database);
  command->callback([&session, arguments] { run(session, *arguments); });
}

}  // namespace attnscope::cli
