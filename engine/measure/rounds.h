#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Shuffled rounds: every active contender contributes one sample per round, so that drift affects
// all contenders equally and samples of one round are pairs. A disturbed sample (is_disturbed) is
// kept but does not count for the stop rule: another round follows, until the rule's time has
// passed a second time. Independent of attention: a call is any function.
//
//   std::vector<ContenderCalls> contenders(1);
//   contenders[0].call = [&] { prepared->forward(call); };
//   std::vector<ContenderSamples> results = run_rounds(contenders, options);
//
// A contender has enough samples at one placement when the intervals of its median and of its
// within-round ratio to the heat's reference are narrow enough, or its time has run out. The
// reference is the first contender of the heat that is measured. There is no resampling: the
// intervals are order statistics of sorted values, so that a round costs one search and a short
// move per contender.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/heat/heat.h"
#include "engine/heat/time_asleep.h"
#include "engine/measure/conditions.h"
#include "engine/measure/heat_device.h"
#include "engine/worker/sign_of_life.h"

namespace attnscope::measure {

/// A cell's stop rule, divided among its placements.
struct PlacementRule {
  double relative_interval = 0;  // target half-width of the median
  // Width for the ratio; half of the median's, since a difference is detected only when it exceeds
  // the spread of ratios across placements, which is finer than what a reader of medians needs.
  double ratio_interval = 0;
  double seconds = 0;       // sampling time of a contender at this placement
  int settled_samples = 3;  // minimum before the interval may end it
  int least_samples = 1;    // minimum before the time may end it: 3 over the whole cell
};
[[nodiscard]] PlacementRule placement_rule(const StopRule& rule);

/// Values in ascending order.
class OrderedValues {
 public:
  void add(double value);
  [[nodiscard]] int count() const { return static_cast<int>(values_.size()); }
  /// Half-width of the median's 95% interval from order statistics (the binomial interval; for
  /// fewer than 6 values, their full range). +inf without values.
  [[nodiscard]] double half_width() const;
  /// The half-width divided by the median; +inf unless the median is positive.
  [[nodiscard]] double relative_half_width() const;

 private:
  std::vector<double> values_;
};

/// Samples of one contender at one placement so far.
class SampledSoFar {
 public:
  void add(double time_ns) { times_.add(time_ns); }
  /// Adds a sample from a round that also has a sample of the reference.
  void add_pair(double time_ns, double reference_ns);

  [[nodiscard]] int samples() const { return times_.count(); }
  [[nodiscard]] bool knows_median(const PlacementRule& rule) const;
  [[nodiscard]] bool knows_ratio(const PlacementRule& rule) const;

 private:
  OrderedValues times_;
  OrderedValues log_ratios_;
};

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
