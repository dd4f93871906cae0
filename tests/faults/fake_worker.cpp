// SPDX-License-Identifier: Apache-2.0
//
// A worker without LibTorch that implements the protocol, answers heats with invented samples and
// fails on command, so that the driver can be tested anywhere and under sanitizers.
//
// A contender whose implementation is named after a fault has it while it runs: crash (SIGSEGV),
// crash-later (in every process but the first), crash-idle (after all have run, while none
// does), crash-together (the same, unless it is alone), kill (SIGKILL, as the kernel's
// out-of-memory killer sends), exit (silently), hang, chatter (reports progress without end),
// refuse, wrong, endless (runs until it is cancelled), held (runs while the file FAKE_WORKER_HOLD
// exists), or a lie. Faults of the worker itself are words in FAKE_WORKER:
//   mute killed-five-times (the first five, while they start) old-version old-protocol
//   new-protocol
//   garbage-hello refuses endless-refusal silent-exit heats-die-before-running garbage-heat
//   other-heat other-index second-lost (the second process of a heat) no-ceilings
//   impossible-ceilings deaf no-heartbeat single-bytes slow-output; in its greeting elsewhere (on
//   another machine) restarted another-governor owing-cores endless-cores
// If these are set, the worker appends its process to the file FAKE_WORKER_PIDS, or
// FAKE_WORKER_TURNS if it holds a turn, and every request to the file FAKE_WORKER_LOG: "hello",
// "heat 64", ...
#include <poll.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>
#include <string>

#include "attnscope/build_info.h"
#include "engine/worker/machine_messages.h"
#include "engine/worker/sign_of_life.h"
#include "engine/worker/turn_keeper.h"

namespace attnscope {
namespace {

using nlohmann::json;

bool has_fault(std::string_view fault) {
  const char* faults = std::getenv("FAKE_WORKER");
  return faults != nullptr && std::string_view(faults).find(fault) != std::string_view::npos;
}

void send(const json& event) {
  static std::mutex writing;
  const std::lock_guard lock(writing);
  const std::string line = protocol::write_line(event);
  const bool slow = has_fault("slow-output");
  const std::size_t piece = slow ? 20 : has_fault("single-bytes") ? 1 : line.size();
  for (std::size_t at = 0; at < line.size(); at += piece) {
    std::cout << line.substr(at, piece) << std::flush;
    if (slow) usleep(1000);
  }
}

void note(const std::string& line) {
  const char* path = std::getenv("FAKE_WORKER_LOG");
  if (path != nullptr) std::ofstream(path, std::ios::app) << line + "\n";
}

// Writes the ids of this process and of the one that watches it, for tests that kill them or wait
// for their end.
void note_process() {
  if (const char* path = std::getenv("FAKE_WORKER_PIDS"); path != nullptr)
    std::ofstream(path, std::ios::app) << fmt::format("{}\n{}\n", getppid(), getpid());
}

int processes_noted() {
  std::ifstream file(std::getenv("FAKE_WORKER_PIDS"));
  int lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  return lines / 2;
}

[[noreturn]] void die_of(int signal) {
  // A sanitizer's handler would turn the signal into an exit code.
  std::signal(signal, SIG_DFL);
  std::raise(signal);
  std::abort();
}

[[noreturn]] void hang() {
  while (true) pause();
}

// Requests are read between contenders only; this one waits for the next, which must be cancel.
bool wait_for_cancel() {
  std::string line;
  while (std::getline(std::cin, line)) {
    if (line.find("\"cancel\"") != std::string::npos) return true;
  }
  std::exit(0);
}

// Returns when the file FAKE_WORKER_HOLD is removed; the end of the requests ends the process.
void wait_while_held() {
  const char* path = std::getenv("FAKE_WORKER_HOLD");
  while (path != nullptr && std::filesystem::exists(path)) {
    pollfd requests{STDIN_FILENO, POLLIN, 0};
    if (poll(&requests, 1, 1) == 1 && (requests.revents & POLLHUP) != 0) std::_Exit(0);
  }
}

Cell measured_cell(const protocol::HeatRequest& request, const Contender& contender) {
  Cell cell;
  cell.contender = contender;
  cell.batch = request.heat.point.batch_max;
  const auto sizes = group_sizes(request.heat.point);
  cell.query_tokens = sizes->query;
  cell.document_tokens = sizes->document;
  cell.relative_error = 1e-7;
  cell.error_bound = 2e-6;
  cell.settled = true;
  for (const int placement : request.placements) {
    for (int round = 0; round < request.heat.stop.min_samples; ++round) {
      cell.samples.push_back(
          {.process = request.process,
           .placement = placement,
           .round = round,
           .time_ns = 1000.0 * static_cast<double>(request.heat.point.sequence_tokens) + round});
    }
  }
  return cell;
}

bool is_of_second_placement(const Sample& sample) {
  return sample.placement == 1;
}

struct Lie {
  std::string_view id;
  void (*tell)(Cell&);
};

/// Results that no measurement has, one of each check of the driver; the checks of single cells are
/// tests/store/damage_test.cpp.
constexpr Lie lies[] = {
    {"lie-negative", [](Cell& cell) { cell.samples[1].time_ns = -5; }},
    {"lie-days", [](Cell& cell) { cell.samples[1].time_ns = 1e15; }},
    // 1e11 flop/s is what this machine does.
    {"lie-faster", [](Cell& cell) { cell.work.useful_flop = 5e9; }},
    {"lie-idle",
     [](Cell& cell) {
       cell.work = {};
       for (Sample& sample : cell.samples) sample.time_ns = 2, sample.iterations = 1'000;
     }},
    {"lie-fewer", [](Cell& cell) { std::erase_if(cell.samples, is_of_second_placement); }},
    {"lie-thin",
     [](Cell& cell) { cell.samples.erase(cell.samples.begin() + 4, cell.samples.end()); }},
    {"lie-samples",
     [](Cell& cell) {
       cell.status = CellStatus::oom;
       cell.reason = "there was no room";
     }},
    {"lie-placement", [](Cell& cell) { cell.samples[1].placement = 77; }},
    {"lie-process", [](Cell& cell) { cell.samples[1].process = 9; }},
    {"lie-empty", [](Cell& cell) { cell.samples.clear(); }},
    {"lie-tokens", [](Cell& cell) { cell.document_tokens += 1; }},
    {"lie-unsupported",
     [](Cell& cell) {
       cell.status = CellStatus::unsupported;
       cell.batch = std::int64_t{1} << 62;
     }},
    {"lie-cancelled",
     [](Cell& cell) {
       cell.status = CellStatus::cancelled;
       cell.samples.clear();
     }},
    {"lie-wordless",
     [](Cell& cell) {
       cell.status = CellStatus::oom;
       cell.samples.clear();
     }},
    {"lie-unproven",
     [](Cell& cell) {
       cell.relative_error.reset();
       cell.error_bound.reset();
     }},
    {"lie-error", [](Cell& cell) { cell.relative_error = 0.3; }},
    {"lie-nan-error", [](Cell& cell) { cell.relative_error = std::nan(""); }},
    {"lie-no-bound", [](Cell& cell) { cell.error_bound.reset(); }},
};

// False when the heat was answered with an error.
bool run_contender(const protocol::HeatRequest& request, const Contender& contender,
                   HeatResult& result) {
  const std::string& fault = contender.implementation;
  if (fault == "crash") {
    std::cerr << "about to fall over\n" << std::flush;
    die_of(SIGSEGV);
  }
  if (fault == "crash-later" && request.process > 0) die_of(SIGSEGV);
  if (fault == "kill") die_of(SIGKILL);
  if (fault == "exit") std::_Exit(3);
  if (fault == "hang") hang();
  while (fault == "chatter") send({{"event", "progress"}, {"contender", 0}, {"phase", "time"}});
  if (fault == "refuse") {
    send({{"event", "error"},
          {"message", "this one is beyond me"},
          {"contender", beacon().contender()}});
    return false;
  }
  if (fault == "held") wait_while_held();
  Cell cell = measured_cell(request, contender);
  if (fault == "wrong") {
    cell.status = CellStatus::wrong;
    cell.reason = "the output differs from the reference";
    cell.samples.clear();
  }
  for (const Lie& lie : lies)
    if (fault == lie.id) lie.tell(cell);
  if (fault == "endless" && wait_for_cancel()) cell.status = CellStatus::cancelled;
  result.cells.push_back(std::move(cell));
  return true;
}

void answer_heat(const json& message) {
  const auto request = protocol::read_message<protocol::HeatRequest>(message);
  if (!request) return send({{"event", "error"}, {"message", request.error().message}});
  note("heat " + std::to_string(request->heat.point.sequence_tokens));
  if (has_fault("heats-die-before-running")) die_of(SIGABRT);
  if (has_fault("garbage-heat")) {
    std::cout << "Intel MKL WARNING: something or other\n" << std::flush;
    hang();
  }
  HeatResult result{.heat_index = request->heat.index, .point = request->heat.point, .cells = {}};
  if (has_fault("second-lost") && request->process == 1) {
    kill(getppid(), SIGKILL);  // it would report how this process ends
    std::_Exit(1);
  }
  if (has_fault("other-index")) ++result.heat_index;
  if (has_fault("other-heat")) result.point.sequence_tokens += 1;
  std::jthread alive;
  if (!has_fault("no-heartbeat")) alive = report_alive(std::chrono::milliseconds(20), send);
  for (std::size_t i = 0; i < request->heat.contenders.size(); ++i) {
    send({{"event", "progress"}, {"contender", i}, {"phase", "time"}});
    beacon().calling(static_cast<int>(i));
    if (!run_contender(*request, request->heat.contenders[i], result)) return;
  }
  beacon().idle();
  for (const Contender& contender : request->heat.contenders) {
    const std::string& fault = contender.implementation;
    const bool alone = request->heat.contenders.size() == 1;
    if (fault == "crash-idle" || (fault == "crash-together" && !alone)) die_of(SIGABRT);
  }
  alive = std::jthread();
  send({{"event", "heat"}, {"result", protocol::to_json(result)}});
}

void answer_ceilings(const json& message) {
  note("ceilings");
  if (has_fault("no-ceilings")) return send({{"event", "error"}, {"message", "no ceilings today"}});
  const Ceilings ceilings{.threads = message.value("threads", 0),
                          .flop_per_second = has_fault("impossible-ceilings") ? -1 : 1e11,
                          .exponentials_per_second = 1e9,
                          .copy = {{.working_set_bytes = 1 << 20, .bytes_per_second = 2e10}}};
  send({{"event", "ceilings"}, {"ceilings", protocol::to_json(ceilings)}});
}

void answer_hello(const json& message) {
  take_over_from(message.value("driver", ""));
  note_process();
  note("hello");
  if (has_fault("killed-five-times") && processes_noted() <= 5) die_of(SIGKILL);
  if (has_fault("mute")) hang();
  if (has_fault("silent-exit")) std::_Exit(5);
  if (has_fault("garbage-hello")) {
    std::cout << "Welcome to gpubox!\n" << std::flush;
    hang();
  }
  if (has_fault("refuses")) {
    send({{"event", "error"}, {"message", "more than one OpenMP runtime is loaded"}});
    std::_Exit(2);
  }
  if (has_fault("endless-refusal")) {
    constexpr std::size_t length = 200'000;
    send({{"event", "error"}, {"message", std::string(length, 'x')}});
    std::_Exit(2);
  }
  json implementations = json::array();
  for (const char* id : {"dense", "sdpa", "sdpa-mask", "windowed", "segment", "crash",
                         "crash-later", "crash-idle", "crash-together", "kill", "exit", "hang",
                         "chatter", "refuse", "wrong", "endless", "held"}) {
    implementations.push_back({{"id", id}, {"summary", "made up"}});
  }
  for (const Lie& lie : lies) implementations.push_back({{"id", lie.id}, {"summary", "a lie"}});
  std::string boot_id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot_id;
  if (has_fault("elsewhere")) boot_id = has_fault("restarted") ? "second" : "first";
  const int spoken = has_fault("old-protocol")   ? protocol::oldest_version - 1
                     : has_fault("new-protocol") ? protocol::version + 1
                                                 : protocol::version;
  send({{"event", "hello"},
        {"protocol", spoken},
        {"version", has_fault("old-version") ? "0.0.1" : ATTNSCOPE_VERSION},
        {"build", {{"commit", has_fault("other-build") ? "another" : "none"}}},
        {"device",
         {{"kind", "cpu"},
          {"name", has_fault("other-device") ? "another" : "Fake processor"},
          {"instruction_set", has_fault("other-set") ? "another" : "avx2"},
          {"cores", has_fault("owing-cores")     ? json(-5)
                    : has_fault("endless-cores") ? json(1'000'000'000'000)
                                                 : json(2)},
          {"host", "fakebox"},
          {"boot_id", boot_id},
          {"governor", has_fault("another-governor") ? "powersave" : "performance"}}},
        {"implementations", implementations}});
}

void answer_hold(TurnKeeper& turns, const json& message) {
  take_over_from(message.value("driver", ""));
  if (const char* path = std::getenv("FAKE_WORKER_TURNS"))
    std::ofstream(path, std::ios::app) << fmt::format("{}\n{}\n", getppid(), getpid());
  const auto request = protocol::read_message<protocol::HoldRequest>(message);
  if (!request) return send({{"event", "error"}, {"message", request.error().message}});
  turns.hold(*request, send, [] { return false; });
}

int serve() {
  TurnKeeper turns([](DeviceKind device) { return std::string(name_of(device)); });
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto message = protocol::parse_line(line);
    if (!message) return 4;
    const std::string request = message->value("request", "");
    if (request == "hello") answer_hello(*message);
    if (request == "heat") answer_heat(*message);
    if (request == "ceilings") answer_ceilings(*message);
    if (request == "hold") answer_hold(turns, *message);
    if (request == "others") turns.others(send);
    if (request == "quit") {
      note("quit");
      if (has_fault("deaf")) hang();
      return 0;
    }
  }
  if (has_fault("deaf")) hang();
  return 0;
}

}  // namespace
}  // namespace attnscope

int main() {
  if (const auto exit_code = attnscope::become_watched_worker()) return *exit_code;
  std::cerr << "fake worker here\n";
  return attnscope::serve();
}
