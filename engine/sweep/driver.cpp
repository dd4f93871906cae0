// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/driver.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <set>
#include <utility>

#include "attnscope/build_info.h"
#include "base/json.h"
#include "base/sentences.h"
#include "engine/sweep/heat_measurement.h"
#include "engine/sweep/pause.h"
#include "engine/sweep/pending_results.h"
#include "engine/sweep/run_plan.h"
#include "engine/sweep/time_left.h"
#include "engine/worker/protocol.h"
#include "engine/worker/turn_holder.h"
#include "engine/worker/worker_pool.h"

namespace attnscope {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;
using Kind = RunEvent::Kind;

double bound_of(const std::vector<Heat>& heats) {
  double seconds = 0;
  for (const Heat& heat : heats) seconds += longest_seconds(heat);
  return seconds;
}

bool is_failure(CellStatus status) {
  return status == CellStatus::wrong || status == CellStatus::crashed ||
         status == CellStatus::timeout;
}

std::string failure_line(const Cell& cell, const HeatPoint& point) {
  return fmt::format("{} at {} tokens: {}: {}", cell.contender.name, point.sequence_tokens,
                     name_of(cell.status), cell.reason);
}

/// A field of an object; null if there is none.
json part(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? json() : *found;
}

/// Replaces threads 0 with `cores`; an error when two heats are then the same point.
Status settle_threads(std::vector<Heat>& heats, int cores) {
  std::set<std::string> points;
  for (Heat& heat : heats) {
    if (heat.point.threads == 0) heat.point.threads = cores;
    if (!points.insert(point_key(heat.point)).second) {
      return fail("threads 0 and {} are the same on this machine, which has {} cores; remove one",
                  cores, cores);
    }
  }
  return {};
}

/// "warm", "cold" or "warm, cold": the cache states of the sweep's heats.
std::string cache_states(const Sweep& sweep) {
  std::set<CacheState> states;
  for (const Heat& heat : sweep.heats) states.insert(heat.point.cache);
  std::string text;
  for (const CacheState state : states)
    text.append(text.empty() ? "" : ", ").append(name_of(state));
  return text;
}

/// The worker's description of its first usable CUDA device, if the sweep has heats there;
/// otherwise null.
json device_of(const Sweep& sweep, const protocol::Hello& hello) {
  const auto on_cuda = [](const Heat& heat) { return heat.point.device == DeviceKind::cuda; };
  if (std::ranges::none_of(sweep.heats, on_cuda)) return {};
  for (const json& device : hello.devices)
    if (part(device, "kind") == "cuda" && part(device, "available") == true) return device;
  return {};
}

/// The libraries of this program, not of the worker.
json libraries() {
  return {{"sqlite", sqlite_version()},
          {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100,
                              FMT_VERSION % 100)},
          {"nlohmann_json", fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR,
                                        NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)}};
}

/// The Slurm task of this process and its node; null outside of one.
json slurm_task() {
  json task;
  for (const auto& [key, variable] : {std::pair("job", "SLURM_JOB_ID"),
                                      {"task", "SLURM_ARRAY_TASK_ID"},
                                      {"node", "SLURMD_NODENAME"}}) {
    if (const char* value = std::getenv(variable)) task[key] = value;
  }
  return task;
}

/// The record of a start: device and build from the greeting, this program's own build, and the
/// plan for a new run (a resumed one has its own). `again_of` is the run that it repeats, if any.
NewRun describe_run(const Sweep& sweep, const protocol::Hello& hello,
                    const std::string& command_line, const std::string& worker_command,
                    const json& plan, const RunInfo* again_of = nullptr) {
  const json& device = hello.device;
  const json name = part(device, "name");
  json provenance = {{"device", device},
                     {"measuring", {{"cache", cache_states(sweep)}}},
                     {"build", hello.build},
                     {"driver",
                      {{"version", ATTNSCOPE_VERSION},
                       {"commit", ATTNSCOPE_GIT_COMMIT},
                       {"dirty", ATTNSCOPE_GIT_DIRTY != 0},
                       {"compiler", ATTNSCOPE_COMPILER},
                       {"flags", ATTNSCOPE_FLAGS},
                       {"build_type", ATTNSCOPE_BUILD_TYPE},
                       {"libraries", libraries()}}}};
  if (!is_this_machine(hello)) provenance["worker"] = {{"elsewhere", true}};
  if (!worker_command.empty()) provenance["worker_command"] = worker_command;
  if (const json task = slurm_task(); device.is_object() && !task.is_null())
    provenance["slurm"] = task;
  if (again_of != nullptr) provenance["again_of"] = again_of->id.uuid;
  if (!plan.is_null()) provenance["plan"] = plan;
  if (sweep.measured_runs)
    provenance[stored_runs_key] = effectiveness::to_json(*sweep.measured_runs);
  std::string device_name = name.is_string() ? name.get<std::string>() : "unknown device";
  if (const json cuda = device_of(sweep, hello); !cuda.is_null()) {
    provenance["cuda"] = cuda;
    if (const json cuda_name = part(cuda, "name"); cuda_name.is_string())
      device_name = cuda_name.get<std::string>();
  }
  return {.sweep_name = sweep.name,
          .sweep_text = sweep.text,
          .command_line = command_line,
          .provenance = provenance.dump(-1, ' ', false, json::error_handler_t::replace),
          .device = device_name,
          .heats_planned = static_cast<int>(sweep.heats.size()),
          .process_id = getpid(),
          .process_start_ticks = own_process_start_ticks()};
}

// One execution of a run, from its first event to its last.
class Run {
 public:
  /// `name`: shown to those who wait for it.
  Run(Store& store, const DriverOptions& options, WorkerPool pool, RunOutcome outcome,
      const std::string& name, std::vector<Heat> heats, int heats_done)
      : store_(store),
        options_(options),
        pool_(std::move(pool)),
        outcome_(std::move(outcome)),
        heats_(std::move(heats)),
        heats_done_(heats_done),
        heats_planned_(heats_done + static_cast<int>(heats_.size())),
        time_left_(heats_),
        began_(Clock::now()),
        turn_({.worker_command = options.worker_command,
               .devices = devices_of(heats_),
               .what = fmt::format("run '{}'", name),
               .now = options.now}),
        pending_(
            store, outcome_.run,
            [this](const PendingResults::Measured& result) { announce(result); },
            [this](const std::string& text) { warn(text); }) {}

  Result<RunOutcome> run(const std::vector<std::string>& warnings) {
    pool_.listen([this](const std::string& text) { warn(text); }, [this] { acknowledge_cancel(); },
                 [this] { look_around(); });
    send(Kind::started, {});
    for (const std::string& text : warnings) warn(text);
    if (const std::string& version = pool_.hello().version; version != ATTNSCOPE_VERSION) {
      warn(fmt::format(
          "the worker is of version {}, this program of version {}; `show` reports both",
          in_a_sentence(version), ATTNSCOPE_VERSION));
    }
    const Status measured = measure_all();
    const RunStatus status = measured ? outcome_.status : RunStatus::interrupted;
    outcome_.status = status;
    finish(status);
    send(Kind::finished, measured ? std::string(name_of(status)) : measured.error().message);
    if (measured) return std::move(outcome_);
    if (!outcome_.store_refusal.empty())
      return fail("{}; {}", measured.error().message, outcome_.store_refusal);
    return fail("{}{}", measured.error().message, remedy());
  }

 private:
  Status measure_all() {
    if (heats_.empty()) return {};
    wait_for_turn();
    began_ = Clock::now();
    if (is_over()) return {};
    if (Status done = measure_ceilings(); !done || is_over()) return done;
    for (const Heat& heat : heats_) {
      wait_for_turn();
      if (is_over()) return {};
      if (Status done = measure(heat); !done || is_over()) return done;
    }
    const Status done = measure_ceilings();
    outcome_.status = RunStatus::done;  // a cancel came after everything was measured
    return done;
  }

  std::string remedy() const {
    const auto run = store_.find_run(outcome_.run.uuid);
    return run ? fmt::format("; every finished heat is kept, and {} measures the rest",
                             command_on(*run, "run --resume"))
               : std::string();
  }
  // Sends the event before writing, because the database may block.
  void acknowledge_cancel() {
    doing_ = {};
    send(
        Kind::cancelling,
        "cancelling after the current iteration; a worker that does not stop within 2 s is killed");
    set_progress("cancelling after the current iteration", /*now=*/true);
  }
  void warn(std::string text) { send(Kind::warning, std::move(text)); }
  [[nodiscard]] bool is_over() const { return outcome_.status != RunStatus::done; }

  // Ends the run in the store. If the database is locked or full, it waits, because the user may be
  // fixing it; a cancel ends the wait.
  void finish(RunStatus status) {
    pool_.dismiss();
    turn_.release();
    const auto began = Clock::now();
    for (bool reported = false;; reported = true) {
      Status stored = pending_.store_all();
      if (stored) stored = store_.finish_run(outcome_.run, status);
      if (stored) {
        outcome_.store_refusal = pending_.moved();
        return;
      }
      if (pool_.is_cancelled() || pending_.run_is_gone() ||
          Clock::now() - began >= options_.store_patience) {
        outcome_.store_refusal = pending_.write_out(status, stored.error());
        return;
      }
      if (!reported) {
        warn(fmt::format(
            "{}; {} will be stored as soon as the database can be written; after a cancel or {:g} "
            "min they are written to a file instead",
            stored.error().message, pending_.in_words(),
            std::chrono::duration<double, std::ratio<60>>(options_.store_patience).count()));
      }
      pool_.pause(std::chrono::seconds(1));
    }
  }

  // Announces results once they are stored, never before.
  void announce(const PendingResults::Measured& measured) {
    if (const auto* ceilings = std::get_if<Ceilings>(&measured)) return announce(*ceilings);
    const auto& result = std::get<HeatResult>(measured);
    ++heats_done_;
    set_progress({}, /*now=*/true);
    const auto heat = std::ranges::find(heats_, result.heat_index, &Heat::index);
    send(Kind::heat_finished, {}, heat == heats_.end() ? nullptr : &*heat, &result);
  }

  void announce(const Ceilings& ceilings) {
    const double gflops = ceilings.flop_per_second / 1e9;
    send(Kind::ceilings,
         ceilings.device == DeviceKind::cpu
             ? fmt::format(
                   "{:.1f} GFLOP/s, {}", gflops,
                   counted(static_cast<std::size_t>(std::max(ceilings.threads, 0)), "thread"))
             : fmt::format("{:.1f} GFLOP/s, {:.1f} on tensor cores, {}", gflops,
                           ceilings.tensor_flop_per_second / 1e9, name_of(ceilings.device)));
  }

  [[nodiscard]] bool is_pause_requested() const {
    return options_.pause != nullptr && options_.pause->load(std::memory_order_relaxed);
  }

  // Waits until there is neither a pause request nor another measurement. The turn is kept between
  // heats.
  void wait_for_turn() {
    const TurnHolder::Listener listener{
        .on_waiting = [this](const std::string& whom) { report_waiting(whom); },
        .on_warning = [this](const std::string& text) { warn(text); },
        .is_given_up =
            [this] {
              pending_.follow_database();
              // The database may have been locked at the first attempt.
              if (!waiting_.empty() && !reported_waiting_)
                reported_waiting_ = set_progress(waiting_, /*now=*/false);
              return pool_.is_cancelled() || is_pause_requested();
            }};
    bool has_turn = false;
    while (!has_turn && !is_over()) {
      wait_while_paused();
      if (is_over()) return;
      has_turn = turn_.hold(listener);
      if (!std::exchange(waiting_, {}).empty()) set_progress({}, /*now=*/true);
      if (pool_.is_cancelled()) outcome_.status = RunStatus::cancelled;
    }
  }

  // Ends the worker, because the other measurement may need its memory or the device.
  void report_waiting(const std::string& whom) {
    pool_.dismiss();
    waiting_ = fmt::format("{}{} to finish", waiting_words, whom);
    reported_waiting_ = set_progress(waiting_, /*now=*/true);
    send(Kind::waiting, waiting_);
  }

  // Ends the worker during a pause, because the user may need its memory or the device.
  void wait_while_paused() {
    if (!is_pause_requested()) return;
    pool_.dismiss();
    turn_.release();
    bool reported = set_progress(std::string(paused_words), /*now=*/true);
    send(Kind::paused, std::string(paused_words));
    while (is_pause_requested() && !pool_.is_cancelled()) {
      pool_.pause(std::chrono::milliseconds(100));
      // The database may have been locked at the first attempt.
      reported = reported || set_progress(std::string(paused_words), /*now=*/false);
    }
    if (pool_.is_cancelled()) {
      outcome_.status = RunStatus::cancelled;
    } else {
      send(Kind::continued, "goes on");
    }
  }

  Status measure(const Heat& heat) {
    time_left_.heat_started(heat, Clock::now());
    set_progress(fmt::format("{} tokens", heat.point.sequence_tokens), /*now=*/true);
    send(Kind::heat_started, {}, &heat);
    const HeatListener listener{
        .on_phase = [&](const Contender& contender,
                        const std::string& phase) { report_phase(heat, contender, phase); },
        .on_warning = [&](const std::string& text) { warn(text); }};
    auto result = measure_awake(heat, listener);
    doing_ = {};
    if (!result) return tl::unexpected(result.error());
    if (!*result) {
      outcome_.status = RunStatus::cancelled;
      return {};
    }
    time_left_.heat_finished(Clock::now());
    mark_disturbed(**result);
    count_failures(**result);
    pending_.add(std::move(**result));
    return {};
  }

  // A heat during which the machine was suspended is measured again, even if its affected samples
  // were repeated: the pairs of its rounds would mix a warm and a cold machine.
  Result<std::optional<HeatResult>> measure_awake(const Heat& heat, const HeatListener& listener) {
    constexpr int most_repeats = 10;
    for (int repeats = 0;; ++repeats) {
      const auto before = options_.time_asleep();
      auto result = measure_heat(heat, pool_, ceilings_, options_.patience, listener);
      const auto slept = options_.time_asleep() - before;
      if (!result || !*result || !pool_.is_here() || slept < least_suspend) return result;
      const double seconds = std::chrono::duration<double>(slept).count();
      if (repeats == most_repeats) {
        warn(
            fmt::format("this machine slept for {:.1f} s while {} tokens were measured, as it did "
                        "{} times before; the measured times are kept",
                        seconds, heat.point.sequence_tokens, repeats));
        return result;
      }
      warn(
          fmt::format("this machine slept for {:.1f} s while {} tokens were measured; measuring "
                      "them again",
                      seconds, heat.point.sequence_tokens));
    }
  }

  // Measures the rates of the machine at every number of threads of the heats, and of the device;
  // without them a run is still valid, but has no limits to compare with.
  Status measure_ceilings() {
    for (const protocol::CeilingsRequest& request : ceilings_requests(heats_)) {
      const Status done = measure_ceilings(request);
      if (!done || is_over()) return done;
    }
    if (const std::string others = others_measured(); !others.empty())
      warn_of_others("the machine's ceilings were", others);
    return {};
  }

  Status measure_ceilings(const protocol::CeilingsRequest& request) {
    set_progress(
        request.device
            ? "ceilings of the device"
            : fmt::format("ceilings of the machine, {}",
                          counted(static_cast<std::size_t>(request.threads.value_or(0)), "thread")),
        /*now=*/true);
    const auto ask = [&] {
      return pool_.ask(request, {std::chrono::minutes(2), std::chrono::minutes(10)});
    };
    auto answer = ask();
    while (answer.kind == WorkerPool::Answer::Kind::lost) {
      warn("the connection to the worker was lost: " + answer.words + "; connecting again");
      answer = ask();
    }
    if (answer.kind == WorkerPool::Answer::Kind::cancelled) {
      outcome_.status = RunStatus::cancelled;
      return {};
    }
    if (answer.kind == WorkerPool::Answer::Kind::no_worker) return fail("{}", answer.words);
    store_ceilings(answer);
    return {};
  }

  void store_ceilings(const WorkerPool::Answer& answer) {
    const auto measured = answer.kind == WorkerPool::Answer::Kind::answered
                              ? protocol::read_message<protocol::MeasuredCeilings>(answer.event)
                              : Result<protocol::MeasuredCeilings>(fail("{}", answer.words));
    if (!measured)
      return warn("the machine's ceilings could not be measured: " + measured.error().message);
    Ceilings ceilings = measured->ceilings;
    if (!is_possible(ceilings)) {
      return warn(
          "the machine's ceilings are not stored: the measuring process reported impossible rates");
    }
    ceilings.seconds_into_run = std::chrono::duration<double>(Clock::now() - began_).count();
    ceilings_.push_back(ceilings);
    pending_.add(std::move(ceilings));
  }

  void report_phase(const Heat& heat, const Contender& contender, const std::string& phase) {
    time_left_.phase_began(phase, Clock::now());
    doing_ = {.current = fmt::format("{} tokens, {}", heat.point.sequence_tokens, contender.id()),
              .text = contender.id() + ": " + in_a_sentence(phase)};
    set_progress(doing_.current, /*now=*/false);
    send(Kind::contender, doing_.text, &heat);
  }

  // While contenders are timed, no events arrive, but the remaining time changes. Writes are rare,
  // because each takes a little time from the measured machine.
  void look_around() {
    pending_.follow_database();
    const auto time = Clock::now();
    if (doing_.text.empty() || time - last_progress_ < std::chrono::seconds(3)) return;
    set_progress(doing_.current, /*now=*/true);
    send(Kind::progress, doing_.text);
  }

  void mark_disturbed(HeatResult& result) {
    const std::string others = others_measured();
    if (others.empty()) return;
    for (Cell& cell : result.cells) cell.disturbed_by = others;
    warn_of_others(fmt::format("{} tokens were", result.point.sequence_tokens), others);
  }

  std::string others_measured() {
    return turn_.others([this] { return pool_.is_cancelled(); });
  }

  void warn_of_others(const std::string& what, const std::string& others) {
    if (std::exchange(warned_of_, others) == others) return;
    warn(fmt::format("another measurement ran while {} measured: {}", what, others));
  }

  void count_failures(const HeatResult& result) {
    for (const Cell& cell : result.cells) {
      if (!is_failure(cell.status)) continue;
      ++outcome_.cells_failed;
      outcome_.failures.push_back(failure_line(cell, result.point));
    }
  }

  // Followers read a few times a second at most, and every write is a commit to disk: changes
  // within a heat are written once a second. A failure to write the progress does not stop the run.
  // Returns whether it was written.
  bool set_progress(std::string current, bool now) {
    const auto time = Clock::now();
    if (!now && time - last_progress_ < std::chrono::seconds(1)) return false;
    last_progress_ = time;
    if (is_pause_requested() && !current.empty() && current != paused_words)
      current += pausing_words;
    Progress progress{.heats_done = heats_done_,
                      .heats_planned = heats_planned_,
                      .current = std::move(current),
                      .seconds_left = time_left_.seconds(time)};
    if (is_waiting(progress)) progress.seconds_left.reset();  // the other's end is unknown
    return store_.set_progress(outcome_.run, progress).has_value();
  }

  void send(Kind kind, std::string text, const Heat* heat = nullptr,
            const HeatResult* result = nullptr) {
    if (!options_.on_event) return;
    options_.on_event({.kind = kind,
                       .run = outcome_.run,
                       .heats_done = heats_done_,
                       .heats_planned = heats_planned_,
                       .heat = heat,
                       .result = result,
                       .text = std::move(text),
                       .seconds_left = std::max(0.0, time_left_.seconds(Clock::now()))});
  }

  Store& store_;
  const DriverOptions& options_;
  WorkerPool pool_;
  RunOutcome outcome_;
  std::vector<Heat> heats_;  // remaining heats
  std::vector<Ceilings> ceilings_;
  int heats_done_, heats_planned_;
  TimeLeft time_left_;
  Clock::time_point began_;
  Clock::time_point last_progress_{};
  TurnHolder turn_;
  struct {
    std::string current, text;     // as sent to the store and to followers
  } doing_;                        // within a heat, otherwise empty
  std::string waiting_;            // while another measurement is waited for
  bool reported_waiting_ = false;  // whether the store has it
  std::string warned_of_;          // other measurements
  PendingResults pending_;
};

std::vector<std::string> warnings_of_threads(const std::vector<Heat>& heats, int cores) {
  std::set<int> too_many;
  for (const Heat& heat : heats) {
    if (heat.point.threads > cores) too_many.insert(heat.point.threads);
  }
  std::vector<std::string> warnings;
  warnings.reserve(too_many.size());
  for (const int threads : too_many) {
    warnings.push_back(fmt::format(
        "{} threads share {} cores; times will include waiting for cores", threads, cores));
  }
  return warnings;
}

Status evaluate_runs(Sweep& sweep) {
  if (!sweep.runs) return {};
  auto measured = effectiveness::evaluate(*sweep.runs);
  if (!measured) return tl::unexpected(measured.error());
  sweep.measured_runs = std::move(*measured);
  return {};
}

/// Memory of the device that computes the heats; nothing if unknown.
std::optional<double> memory_of(DeviceKind device, const protocol::Hello& hello) {
  json computes = hello.device;
  if (device != DeviceKind::cpu) {
    const auto of_kind = std::ranges::find_if(hello.devices, [device](const json& listed) {
      return part(listed, "kind") == name_of(device);
    });
    computes = of_kind == hello.devices.end() ? json() : *of_kind;
  }
  const json bytes = part(computes, "memory_bytes");
  return bytes.is_number() ? std::optional(bytes.get<double>()) : std::nullopt;
}

/// A heat cannot be measured if the tensors of a single item exceed the machine's memory.
Status check_memory(const std::vector<Heat>& heats, const protocol::Hello& hello) {
  for (const Heat& heat : heats) {
    const std::optional<double> memory = memory_of(heat.point.device, hello);
    const double bytes = item_bytes(heat.point);
    if (!memory || bytes <= *memory) continue;
    return fail(
        "an item of {} tokens takes at least {:.0f} GB, and the {} has {:.0f} GB; measure shorter "
        "items, or start with --oversize, which reports such cells as oom",
        heat.point.sequence_tokens, bytes / 1e9,
        heat.point.device == DeviceKind::cpu ? "machine" : "device", *memory / 1e9);
  }
  return {};
}

// The outcome of the run's earlier starts, including their failed cells.
Result<RunOutcome> outcome_so_far(const RunInfo& run, const Store& store) {
  auto cells = store.cells(run.id, /*with_samples=*/false);
  if (!cells) return tl::unexpected(cells.error());
  RunOutcome outcome{.run = run.id, .status = RunStatus::done, .failures = {}, .store_refusal = {}};
  for (const StoredCell& stored : *cells) {
    if (!is_failure(stored.cell.status)) continue;
    ++outcome.cells_failed;
    outcome.failures.push_back(failure_line(stored.cell, stored.point));
  }
  return outcome;
}

/// The properties in a run's record that affect times: the device, the worker's build and its
/// instruction set. Null if not recorded, as for runs whose tasks measured on several machines.
std::vector<std::pair<const char*, json>> what_decides_times(const NewRun& run) {
  const json provenance = parse_json(run.provenance);
  const auto at = [&](const char* section, const char* key) {
    const json of = provenance.is_object() ? part(provenance, section) : json();
    return of.is_object() ? part(of, key) : json();
  };
  const bool has_device = !run.device.empty() && at("slurm", "dir").is_null();
  return {{"device", has_device ? json(run.device) : json()},
          {"instruction set", at("device", "instruction_set")},
          {"worker version", at("build", "version")},
          {"worker commit", at("build", "commit")},
          {"compiler", at("build", "compiler")},
          {"compiler flags", at("build", "flags")},
          {"LibTorch", at("build", "libtorch")},
          {"BLAS library", at("build", "blas")},
          {"CUDA build", at("build", "cuda")}};
}

/// Times within one run are compared, so all of it must be measured under the same conditions.
Status check_same_machine(const RunInfo& earlier, const NewRun& restart) {
  const auto then = what_decides_times(earlier.start), now = what_decides_times(restart);
  for (std::size_t i = 0; i < then.size(); ++i) {
    if (then[i].second.is_null() || then[i].second == now[i].second) continue;
    const auto words = [](const json& value) {
      return in_a_sentence(value.is_string() ? value.get<std::string>() : value.dump(), 100);
    };
    return fail(
        "run {} began with the {} '{}' and would continue with '{}', but their times are not "
        "comparable; resume it under the original conditions, or measure all of it again with run "
        "--again {}",
        earlier.number, then[i].first, words(then[i].second), words(now[i].second), earlier.number);
  }
  return {};
}

Status check_resumable(const RunInfo& run) {
  if (run.status == RunStatus::done) {
    return fail("run {} is done; nothing is left to resume", run.number);
  }
  if (run.status == RunStatus::running) {
    return fail("run {} is still running (process {}); cancel it first, or wait", run.number,
                run.start.process_id);
  }
  return {};
}

/// How an earlier run obtained the implementation: " (run 3 had it by --with 'mine.py')". The
/// program is never started automatically, because a run may come from another person.
std::string had_it_by(const RunInfo* earlier, std::string_view implementation) {
  if (earlier == nullptr) return {};
  const json provenance = parse_json(earlier->start.provenance);
  const json build = part(provenance.is_object() ? provenance : json::object(), "build");
  const json served = part(build.is_object() ? build : json::object(), "served");
  for (const json& entry : served.is_array() ? served : json::array()) {
    if (!entry.is_object() || part(entry, "id") != implementation) continue;
    const json program = part(entry, "program");
    if (!program.is_string()) continue;
    return fmt::format(" (run {} had it by --with '{}')", earlier->number,
                       in_a_sentence(program.get<std::string>()));
  }
  return {};
}

}  // namespace

Status check_implementations(const std::vector<Heat>& heats, const protocol::Hello& hello,
                             const RunInfo* earlier) {
  std::vector<std::string_view> known;
  for (const protocol::ListedImplementation& listed : hello.implementations)
    known.push_back(listed.id);
  if (known.empty()) {
    return fail(
        "the measuring process offers no implementation; name another worker in ATTNSCOPE_WORKER "
        "or with --worker");
  }
  for (const Heat& heat : heats) {
    for (const Contender& contender : heat.contenders) {
      if (std::ranges::find(known, contender.implementation) != known.end()) continue;
      return fail(
          "contender '{}': there is no implementation '{}'; {}; --with PROGRAM adds others{}",
          contender.id(), contender.implementation, suggest(contender.implementation, known),
          had_it_by(earlier, contender.implementation));
    }
  }
  return {};
}

Result<WorkerPool> start_pool(const std::vector<Heat>& heats, const DriverOptions& options,
                              const RunInfo* earlier) {
  auto pool = WorkerPool::start(options.worker_command, options.with, options.connection,
                                options.cancel, options.memory_kills);
  if (!pool) return pool;
  if (Status known = check_implementations(heats, pool->hello(), earlier); !known)
    return tl::unexpected(known.error());
  return pool;
}

Result<NewRun> record_of(const Sweep& requested, int cores, const std::string& command_line) {
  Sweep sweep = requested;
  if (Status evaluated = evaluate_runs(sweep); !evaluated) return tl::unexpected(evaluated.error());
  if (Status settled = settle_threads(sweep.heats, cores); !settled)
    return tl::unexpected(settled.error());
  NewRun record = describe_run(sweep, {}, command_line, {}, plan_json(sweep.heats));
  record.device.clear();
  record.process_id = 0;
  record.process_start_ticks = 0;
  return record;
}

Result<PreparedRun> prepare_run(Sweep sweep, const DriverOptions& options) {
  if (Status evaluated = evaluate_runs(sweep); !evaluated) return tl::unexpected(evaluated.error());
  std::vector<Heat> heats = sweep.heats;
  auto pool = start_pool(heats, options, options.again_of ? &*options.again_of : nullptr);
  if (!pool) return tl::unexpected(pool.error());
  if (Status settled = settle_threads(heats, worker_cores(pool->hello())); !settled)
    return tl::unexpected(settled.error());
  if (!options.oversize) {
    if (Status fits = check_memory(heats, pool->hello()); !fits)
      return tl::unexpected(fits.error());
  }
  return PreparedRun{std::move(sweep), std::move(heats), std::move(*pool)};
}

Result<RunOutcome> run_sweep(PreparedRun run, Store& store, const DriverOptions& options) {
  auto& [sweep, heats, pool] = run;
  RunOutcome outcome{.run = {}, .status = RunStatus::done, .failures = {}, .store_refusal = {}};
  auto id = store.begin_run(describe_run(sweep, pool.hello(), options.command_line,
                                         options.worker_command, plan_json(heats),
                                         options.again_of ? &*options.again_of : nullptr));
  if (!id) {
    outcome.status = RunStatus::interrupted;
    outcome.store_refusal = id.error().message;
    return outcome;
  }
  outcome.run = *id;
  std::vector<std::string> warnings = warnings_of_threads(heats, worker_cores(pool.hello()));
  if (sweep.measured_runs)
    std::ranges::copy(sweep.measured_runs->notes, std::back_inserter(warnings));
  return Run(store, options, std::move(pool), std::move(outcome), sweep.name, std::move(heats),
             /*heats_done=*/0)
      .run(warnings);
}

Result<RunOutcome> run_sweep(const Sweep& sweep, Store& store, const DriverOptions& options) {
  auto prepared = prepare_run(sweep, options);
  if (!prepared) return tl::unexpected(prepared.error());
  return run_sweep(std::move(*prepared), store, options);
}

Result<RunOutcome> resume_run(const RunInfo& earlier, Store& store, const DriverOptions& options) {
  if (Status resumable = check_resumable(earlier); !resumable) {
    return tl::unexpected(resumable.error());
  }
  auto heats = stored_heats(earlier);
  if (!heats) return tl::unexpected(heats.error());
  auto finished = store.finished_points(earlier.id);
  if (!finished) return tl::unexpected(finished.error());
  const std::set<std::string> done(finished->begin(), finished->end());
  std::erase_if(*heats, [&](const Heat& heat) { return done.contains(point_key(heat.point)); });
  auto outcome = outcome_so_far(earlier, store);
  if (!outcome) return outcome;

  auto pool = start_pool(*heats, options, &earlier);
  if (!pool) return tl::unexpected(pool.error());
  NewRun restart = describe_run(
      {.name = earlier.start.sweep_name, .text = earlier.start.sweep_text, .heats = *heats},
      pool->hello(), options.command_line, options.worker_command, json());
  if (Status same = check_same_machine(earlier, restart); !same)
    return tl::unexpected(same.error());
  restart.heats_planned = earlier.start.heats_planned;
  if (Status resumed = store.resume_run(earlier.id, restart); !resumed) {
    outcome->status = RunStatus::interrupted;
    outcome->store_refusal = resumed.error().message;
    return outcome;
  }
  const int heats_done = earlier.start.heats_planned - static_cast<int>(heats->size());
  auto warnings = warnings_of_threads(*heats, worker_cores(pool->hello()));
  // Tasks of a cluster measured the heats so far; any other run is refused above.
  if (restart.device != earlier.start.device && !earlier.start.device.empty()) {
    warnings.push_back(fmt::format(
        "the run began on '{}' and continues on '{}', but their times are not comparable",
        earlier.start.device, restart.device));
  }
  return Run(store, options, std::move(*pool), std::move(*outcome), title_of(earlier),
             std::move(*heats), heats_done)
      .run(warnings);
}

std::vector<protocol::CeilingsRequest> ceilings_requests(const std::vector<Heat>& heats) {
  std::set<int> threads;
  for (const Heat& heat : heats)
    if (heat.point.device == DeviceKind::cpu) threads.insert(heat.point.threads);
  std::vector<protocol::CeilingsRequest> requests;
  requests.reserve(threads.size() + 1);
  for (const int count : threads) requests.push_back({.threads = count});
  if (devices_of(heats).contains(DeviceKind::cuda))
    requests.push_back({.device = DeviceKind::cuda});
  return requests;
}

std::set<DeviceKind> devices_of(const std::vector<Heat>& heats) {
  std::set<DeviceKind> devices;
  for (const Heat& heat : heats) devices.insert(heat.point.device);
  return devices;
}

double longest_seconds(const Heat& heat) {
  return static_cast<double>(heat.contenders.size()) * heat.stop.max_seconds;
}

double longest_seconds(const Sweep& sweep) {
  return bound_of(sweep.heats);
}

}  // namespace attnscope
