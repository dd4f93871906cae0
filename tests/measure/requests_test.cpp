// SPDX-License-Identifier: Apache-2.0
//
// Requests to the worker program and its events.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "engine/worker/machine_messages.h"
#include "engine/worker/waiting_policy.h"
#include "tests/measure/small_heat.h"
#include "tests/measure/worker_under_test.h"

namespace attnscope::worker {
namespace {

using nlohmann::json;
using testing::HasSubstr;

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
  const auto result = protocol::read_heat_result(events.back().at("result"));
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
  const auto ceilings = protocol::read_ceilings(event.at("ceilings"));
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
