// SPDX-License-Identifier: Apache-2.0
//
// Requests to the worker program and its events.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/worker/machine_messages.h"
#include "engine/worker/waiting_policy.h"
#include "tests/measure/small_heat.h"

namespace attnscope::worker {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// The worker program, connected by pipes; requests and events are lines.
class WorkerUnderTest {
 public:
  /// Starts the program with `settings` ("A=B") in addition to the environment of this process.
  explicit WorkerUnderTest(std::vector<std::string> arguments = {},
                           std::vector<std::string> settings = {}) {
    std::signal(SIGPIPE, SIG_IGN);
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
      throw std::runtime_error("no pipes left");
    arguments.insert(arguments.begin(), ATTNSCOPE_WORKER_PROGRAM);
    std::vector<char*> words;
    words.reserve(arguments.size() + 1);
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      for (std::string& setting : settings) putenv(setting.data());
      execv(words[0], words.data());
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    input_ = in[1];
    output_ = out[0];
  }
  WorkerUnderTest(const WorkerUnderTest&) = delete;
  WorkerUnderTest& operator=(const WorkerUnderTest&) = delete;
  ~WorkerUnderTest() {
    close_input();
    close_output();
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  void send(const json& request) const { send_text(request.dump() + "\n"); }
  void send_text(const std::string& text) const {
    EXPECT_EQ(write(input_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void close_input() { close(std::exchange(input_, -1)); }
  void close_output() { close(std::exchange(output_, -1)); }

  /// The next line of its stdout; empty at the end or after a minute of silence.
  [[nodiscard]] std::string read_line() {
    std::size_t end = 0;
    while ((end = pending_.find('\n')) == std::string::npos) {
      pollfd ready{.fd = output_, .events = POLLIN, .revents = 0};
      if (poll(&ready, 1, 60'000) <= 0) return {};
      char chunk[4096];
      const ssize_t count = read(output_, chunk, sizeof chunk);
      if (count <= 0) return {};
      pending_.append(chunk, static_cast<std::size_t>(count));
    }
    const std::string line = pending_.substr(0, end);
    pending_.erase(0, end + 1);
    return line;
  }
  [[nodiscard]] json read_event() {
    return json::parse(read_line(), nullptr, /*allow_exceptions=*/false);
  }
  /// Events up to and including the first of that kind, or an empty list if there is none.
  [[nodiscard]] std::vector<json> read_until(const std::string& kind) {
    std::vector<json> events;
    do {
      events.push_back(read_event());
      if (!events.back().is_object()) return {};
    } while (events.back().value("event", "") != kind);
    return events;
  }
  /// Waits for its end; the exit code, or minus the signal.
  [[nodiscard]] int wait_for_end() {
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  int input_ = -1, output_ = -1;
  pid_t pid_ = -1;
  std::string pending_;
};

const json hello = {{"request", "hello"}, {"protocol", 1}, {"version", "0.1.0"}};

std::string message_of(const json& event) {
  return event.value("event", "") == "error" ? event.value("message", "")
                                             : "no error: " + event.dump();
}

protocol::HeatRequest long_heat() {
  auto request = measure::small_heat(
      {measure::contender("full", "dense"), measure::contender("full", "sdpa")}, 256);
  request.heat.stop.relative_interval = 0;
  request.heat.stop.max_seconds = 10'000;
  return request;
}

TEST(Worker, HelloReturnsProtocolBuildDevicesAndImplementations) {
  WorkerUnderTest worker;
  worker.send(hello);
  const json event = worker.read_event();
  EXPECT_EQ(event.at("event"), "hello");
  EXPECT_EQ(event.at("protocol"), protocol::version);
  EXPECT_TRUE(event.at("version").is_string());
  EXPECT_FALSE(event.at("device").at("name").get<std::string>().empty());
  EXPECT_EQ(event.at("devices").at(0).at("kind"), "cpu");
  EXPECT_EQ(event.at("devices").at(0).at("available"), true);
  EXPECT_EQ(event.at("build").at("openmp").size(), 1U);
  std::vector<std::string> ids;
  for (const json& one : event.at("implementations")) ids.push_back(one.at("id"));
  EXPECT_THAT(ids, testing::IsSupersetOf({"dense", "sdpa", "sdpa-mask", "windowed", "segment"}));
}

TEST(Worker, ThreadsSpinForABoundedTimeUnlessConfigured) {
  unsetenv("OMP_WAIT_POLICY");  // set when tests run in parallel
  const auto environment_of = [](const std::vector<std::string>& settings) {
    WorkerUnderTest worker({}, settings);
    worker.send(hello);
    return worker.read_event().at("device").at("environment");
  };
  EXPECT_EQ(environment_of({}).at(spin_count_name), spin_count);
  EXPECT_EQ(environment_of({"GOMP_SPINCOUNT=77"}).at(spin_count_name), "77");
  EXPECT_FALSE(environment_of({"OMP_WAIT_POLICY=active"}).contains(spin_count_name));
}

TEST(Worker, InvalidLinesAreErrorsAndTheWorkerContinues) {
  WorkerUnderTest worker;
  for (const auto& [line, part] : std::vector<std::pair<std::string, const char*>>{
           {"this is no JSON", "this is no JSON"},
           {"[1,2]", "JSON object"},
           {R"({"request": "helo"})", "hello"},
           {R"({"request": 7})", "'request'"},
           {R"({"question": "hello"})", "'request'"},
           {R"({"request": "heat", "heat": 3})", "heat"},
           {R"({"request": "ceilings", "threads": "two"})", "'threads'"},
           {R"({"request": "check", "device": "abacus"})", "abacus"},
           {R"({"request": "attend", "in": "x"})", "'out'"},
           {R"({"request": "attend", "in": "x", "out": "y"})", "the field 'pattern_json'"},
           {std::string("\xff\xfe\x00{\"request\"", 13), ""}}) {
    worker.send_text(line + "\n");
    const json event = worker.read_event();
    EXPECT_EQ(event.value("event", ""), "error") << line;
    EXPECT_THAT(message_of(event), HasSubstr(part)) << line;
  }
  worker.send(hello);
  EXPECT_EQ(worker.read_event().at("event"), "hello");
}

TEST(Worker, HeatReportsProgressThenCells) {
  WorkerUnderTest worker;
  worker.send(protocol::as_request(
      measure::small_heat({measure::contender("full", "dense"),
                           measure::contender("sparse", "segment", Window::of(4))})));
  std::vector<json> events = worker.read_until("heat");
  // On a slow machine there are "alive" events between them.
  std::erase_if(events, [](const json& event) { return event.at("event") == "alive"; });
  ASSERT_GT(events.size(), 1U);
  EXPECT_EQ(events.front().at("event"), "progress");
  EXPECT_TRUE(events.front().at("contender").is_number_integer());
  EXPECT_TRUE(events.front().at("phase").is_string());
  const auto result = protocol::from_json<HeatResult>(events.back().at("result"), "result");
  ASSERT_TRUE(result.has_value()) << result.error().message;
  for (const Cell& cell : result->cells)
    EXPECT_EQ(cell.status, CellStatus::ok) << cell.contender.id() << ": " << cell.reason;
}

TEST(Worker, CancelEndsOnlyTheRunningHeat) {
  WorkerUnderTest worker;
  const auto status_of = [&](const protocol::HeatRequest& request, bool cancels) -> std::string {
    worker.send(protocol::as_request(request));
    if (cancels) {
      if (worker.read_until("progress").empty()) return "no progress";
      worker.send({{"request", "cancel"}});
    }
    const std::vector<json> events = worker.read_until("heat");
    return events.empty() ? "no result" : events.back().at("result").at("cells").at(0).at("status");
  };
  const auto short_heat = measure::small_heat({measure::contender("full", "sdpa")});
  worker.send({{"request", "cancel"}});
  EXPECT_EQ(status_of(short_heat, false), "ok");
  EXPECT_EQ(status_of(long_heat(), true), "cancelled");
  EXPECT_EQ(status_of(short_heat, false), "ok");
}

TEST(Worker, MeasuresCeilings) {
  WorkerUnderTest worker;
  worker.send({{"request", "ceilings"}, {"threads", 2}});
  const json event = worker.read_event();
  EXPECT_EQ(event.at("event"), "ceilings");
  const auto ceilings = protocol::from_json<Ceilings>(event.at("ceilings"), "ceilings");
  ASSERT_TRUE(ceilings.has_value()) << ceilings.error().message;
  EXPECT_EQ(ceilings->threads, 2);
  EXPECT_GT(ceilings->flop_per_second, 0);
}

constexpr const char* windowed_pattern =
    R"({"name": "p", "attends": {"document": {"document": "window"}}})";

json costs_request(const std::string& pattern_json) {
  return {{"request", "costs"},      {"pattern_json", pattern_json},
          {"window", "1"},           {"layout_json", R"({"items": [{"query": 2, "document": 5}]})"},
          {"layout_source", "here"}, {"heads", 3},
          {"head_dim", 16},          {"dtype", "float32"},
          {"direction", "forward"},  {"threads", 1}};
}

TEST(Worker, CostsAreTheExecutedWorkOfEachImplementation) {
  WorkerUnderTest worker;
  worker.send(costs_request(windowed_pattern));
  const json event = worker.read_event();
  ASSERT_EQ(event.at("event"), "costs") << event;
  std::map<std::string, json> of;
  for (const json& row : event.at("implementations")) of[row.at("id")] = row;
  // The fused kernel computes 13 of the 64 pairs of a head, the dense implementation all.
  EXPECT_EQ(of.at("segment").at("executed_flop"), 4.0 * 16 * 3 * 13);
  EXPECT_EQ(of.at("dense").at("executed_flop"), 4.0 * 16 * 3 * 64);
  EXPECT_THAT(of.at("sdpa").at("reason").get<std::string>(), HasSubstr("full attention"));
  EXPECT_FALSE(of.at("sdpa").contains("executed_flop"));
  worker.send(costs_request(R"({"name": "p", "atends": {}})"));
  EXPECT_THAT(message_of(worker.read_event()), HasSubstr("atends"));
}

TEST(Worker, QuitAndEndOfInputEndTheWorkerAlsoDuringAHeat) {
  for (const bool is_busy : {false, true}) {
    for (const bool quits : {false, true}) {
      SCOPED_TRACE(fmt::format("busy {}, quit {}", is_busy, quits));
      WorkerUnderTest worker;
      if (is_busy) {
        worker.send(protocol::as_request(long_heat()));
        ASSERT_FALSE(worker.read_until("progress").empty());
      }
      if (quits) {
        worker.send({{"request", "quit"}});
      } else {
        worker.close_input();
      }
      EXPECT_EQ(worker.wait_for_end(), 0);
    }
  }
}

TEST(Worker, EndOfInputEndsTheWorkerDuringCosts) {
  WorkerUnderTest worker;
  json hours = costs_request(windowed_pattern);
  hours["layout_json"] = R"({"items": [{"query": 2, "document": 100000000}]})";
  worker.send(hours);
  worker.close_input();
  EXPECT_EQ(worker.wait_for_end(), 0);
}

TEST(Worker, AnswersEarlierRequestsAfterTheEndOfInputInOneLineEach) {
  WorkerUnderTest worker;
  worker.send(hello);
  worker.send({{"request", "describe"}});
  worker.close_input();
  EXPECT_EQ(worker.read_event().at("event"), "hello");
  EXPECT_TRUE(worker.read_event().is_object());
  EXPECT_EQ(worker.read_line(), "");
  EXPECT_EQ(worker.wait_for_end(), 0);
}

TEST(Worker, ClosedOutputEndsTheWorker) {
  WorkerUnderTest worker;
  worker.close_output();
  worker.send(hello);
  EXPECT_EQ(worker.wait_for_end(), 0);
}

TEST(Worker, PrintsItsVersionAndRefusesUnknownArguments) {
  WorkerUnderTest worker({"--version"});
  EXPECT_THAT(worker.read_line(), HasSubstr("attnscope-worker "));
  EXPECT_EQ(worker.wait_for_end(), 0);
  EXPECT_EQ(WorkerUnderTest({"--help-me"}).wait_for_end(), 2);
}

TEST(Worker, DoesNotStartWithInvalidSettings) {
  for (const auto& [setting, part] : {std::pair("ATTNSCOPE_MEMORY_LIMIT_MB=plenty", "LIMIT_MB"),
                                      std::pair("ATTNSCOPE_ISA=abacus", "abacus")}) {
    WorkerUnderTest worker({}, {setting});
    EXPECT_THAT(message_of(worker.read_event()), HasSubstr(part));
    EXPECT_EQ(worker.wait_for_end(), 2);
  }
}

TEST(Worker, DoesNotStartWithASecondOpenmpRuntime) {
  const std::string second = SECOND_OPENMP_RUNTIME;
  WorkerUnderTest worker({}, {"LD_PRELOAD=" + second});
  const std::string message = message_of(worker.read_event());
  EXPECT_THAT(message, HasSubstr(second));
  EXPECT_THAT(message, HasSubstr("LD_PRELOAD"));
  EXPECT_EQ(worker.wait_for_end(), 2);
}

}  // namespace
}  // namespace attnscope::worker
