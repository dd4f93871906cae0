#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Shuffled rounds: every active contender contributes one sample per round, so that drift affects
// all contenders equally and samples of one round are pairs. A disturbed sample (is_disturbed) is
// kept but does not count for the stop rule: another round follows, until the rule's time has
// passed a second time. Independent of attention: a lane is any function.
//
//   std::vector<ContenderCalls> lanes = {{.contender = 0, .call = [&] { prepared->forward(call);
//   }}}; std::vector<ContenderSamples> results = run_rounds(contenders, options);

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/heat/time_asleep.h"
#include "engine/measure/conditions.h"
#include "engine/measure/failure.h"
#include "engine/measure/heat_device.h"
#include "engine/measure/stop_rule.h"
#include "engine/worker/sign_of_life.h"

namespace attnscope::measure {

struct ContenderCalls {
  int contender = 0;
  std::function<void()> enter = [] {};     // before a sample: provides the workspace
  std::function<void()> before_call = {};  // untimed, before every iteration
  std::function<void()> call;              // one iteration; throws
  std::function<void()> leave = [] {};     // after a sample, also when the call threw
  /// Untimed, after a sample: validates the output of its last call.
  std::function<std::optional<Failure>()> judge = [] { return std::nullopt; };
  double earlier_ns = 0;  // time of an earlier call in this process; 0: none
  double sampled_ns = 0;  // time of a sample at an earlier placement; 0: none
};

struct ContenderSamples {
  std::vector<Sample> samples;
  bool settled = false;
  std::optional<Failure> failure;
};

struct RoundsOptions {
  HeatMemory& memory;
  Beacon& beacon;
  PlacementRule rule;
  int threads = 1;  // threads that a call uses
  int process = 0;
  int placement = 0;
  std::uint64_t seed = 0;
  const std::atomic<bool>* cancel = nullptr;
  std::function<void(int contender)> on_start = [](int) {};  // before its warm-up
  Stopwatch& stopwatch = wall_clock();                       // clock of the device
  ConditionsMeter& conditions = unknown_conditions();        // conditions of the device
  std::function<OwnTimes()> own_times = {};                  // empty: of this process's threads
  /// Other processes that compute for contenders: their use of the cores does not count as a
  /// disturbance, but their waiting does.
  std::vector<pid_t> processes = {};
  /// How long this machine has been suspended; a sample during which this grows is repeated.
  std::function<std::chrono::nanoseconds()> time_asleep = attnscope::time_asleep;
};

/// Results in the order of the contenders. After a cancel it returns the samples taken so far; the
/// caller checks the flag.
[[nodiscard]] std::vector<ContenderSamples> run_rounds(std::span<const ContenderCalls> contenders,
                                                       const RoundsOptions& options);

}  // namespace attnscope::measure
