#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Shuffled rounds: every contender still in gives one sample a round, so that drift hits all alike
// and samples of one round are a pair. A sample that something held up (is_disturbed) is kept but
// ends nothing: another round follows, until as much time again has gone as the rule gives. Knows
// nothing of attention: a lane is something to call.
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

#include "engine/heat/sign_of_life.h"
#include "engine/heat/time_asleep.h"
#include "engine/measure/conditions.h"
#include "engine/measure/failure.h"
#include "engine/measure/heat_device.h"
#include "engine/measure/stop_rule.h"

namespace attnscope::measure {

struct ContenderCalls {
  int contender = 0;
  std::function<void()> enter = [] {};     // before a sample: hands the workspace in
  std::function<void()> before_call = {};  // untimed, before every iteration
  std::function<void()> call;              // one iteration; throws
  std::function<void()> leave = [] {};     // after a sample, also when the call threw
  /// After a sample, untimed: what is wrong with what its last call left.
  std::function<std::optional<Failure>()> judge = [] { return std::nullopt; };
  double earlier_ns = 0;  // of a call this process made before; 0: none
  double sampled_ns = 0;  // of one of its samples at an earlier placement; 0: none
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
  int threads = 1;  // that a call uses
  int process = 0;
  int placement = 0;
  std::uint64_t seed = 0;
  const std::atomic<bool>* cancel = nullptr;
  std::function<void(int contender)> on_start = [](int) {};  // before its warm-up
  Stopwatch& stopwatch = wall_clock();                       // of what computes the calls
  ConditionsMeter& conditions = unknown_conditions();        // of the same
  std::function<OwnTimes()> own_times = {};                  // empty: of this process' threads
  /// Other processes that compute for contenders: what they take of the cores is no disturbance,
  /// and what they wait for is.
  std::vector<pid_t> processes = {};
  /// How long this machine has been suspended; a sample over which it grows is taken again.
  std::function<std::chrono::nanoseconds()> time_asleep = attnscope::time_asleep;
};

/// Results in the order of the contenders. After a cancel the samples so far are returned; the
/// caller looks at the flag.
[[nodiscard]] std::vector<ContenderSamples> run_rounds(std::span<const ContenderCalls> contenders,
                                                       const RoundsOptions& options);

}  // namespace attnscope::measure
