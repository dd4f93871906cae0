// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/rounds.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/measure/conditions.h"
#include "engine/measure/random.h"

namespace attnscope::measure {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double sample_ns = 1.2e6;      // far above the clock's resolution of tens of nanoseconds
constexpr double warm_up_ns = 5e6;       // time of warm-up, with at least three calls
constexpr double one_is_warm_ns = 20e6;  // a single call of this length completes the warm-up
// A sample of a short call is preceded by an untimed one, because the previous contender has left
// its own data in the caches. For a call of 100 ms, refetching tens of MB costs about one percent,
// and the lead-in call doubles the time.
constexpr double lead_in_below_ns = 100e6;
constexpr int retakes = 2;

double nanoseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

class LeaveOnExit {
 public:
  explicit LeaveOnExit(const ContenderCalls& calls) : calls_(calls) { calls_.enter(); }
  LeaveOnExit(const LeaveOnExit&) = delete;
  LeaveOnExit& operator=(const LeaveOnExit&) = delete;
  ~LeaveOnExit() { calls_.leave(); }

 private:
  const ContenderCalls& calls_;
};

struct Runner {
  const ContenderCalls& calls;
  ContenderSamples result;
  int iterations = 1;
  double call_ns = std::numeric_limits<double>::infinity();  // the shortest warm call
  double spent_ns = 0;
  double disturbed_ns = 0;  // time in disturbed samples
  bool is_held_up = false;  // whether the last sample was disturbed
  SampledSoFar known = {};
  bool out = false;

  /// Time in disturbed samples extends the limit, at most by the limit itself.
  [[nodiscard]] bool has_had_its_time(const PlacementRule& rule) const {
    const double seconds = rule.seconds * 1e9;
    return spent_ns - std::min(disturbed_ns, seconds) >= seconds;
  }

  /// The time in this round, if there is an undisturbed sample.
  [[nodiscard]] std::optional<double> time_in(int round) const {
    const auto& samples = result.samples;
    if (samples.empty() || samples.back().round != round || is_held_up) return std::nullopt;
    return samples.back().time_ns;
  }
};

class Rounds {
 public:
  Rounds(std::span<const ContenderCalls> contenders, const RoundsOptions& options)
      : options_(options), load_(options.processes) {
    for (const ContenderCalls& calls : contenders)
      runners_.push_back(Runner{.calls = calls, .result = {}});
  }

  std::vector<ContenderSamples> run() {
    for (Runner& runner : runners_) guard(runner, [&] { warm_up(runner); });
    own_times_meter_.emplace("/proc/self/task", options_.processes);  // the threads exist now
    options_.conditions.start();
    reference_ = std::ranges::find(runners_, false, &Runner::out);
    for (int round = 0; !cancelled() && !all_done(); ++round) {
      for (const std::size_t index : order_of(round)) {
        Runner& runner = runners_[index];
        if (cancelled() || runner.out) continue;
        guard(runner, [&] { add_sample(runner, round); });
      }
      judge(round);
      tag_with_load(load_.try_close());
    }
    tag_with_load(load_.close());
    options_.beacon.idle();
    std::vector<ContenderSamples> results;
    for (Runner& runner : runners_) results.push_back(std::move(runner.result));
    return results;
  }

 private:
  [[nodiscard]] bool cancelled() const {
    return options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed);
  }

  template <typename Action>
  void guard(Runner& runner, const Action& action) {
    if (runner.out || cancelled()) return;
    if (auto failure = guarded(options_.memory, action)) {
      runner.result.failure = std::move(failure);
      runner.out = true;
    }
  }

  void call(const Runner& runner) const {
    options_.beacon.calling(runner.calls.contender);
    runner.calls.call();
  }

  void warm_up(Runner& runner) {
    options_.on_start(runner.calls.contender);
    // After a sample at an earlier placement or an earlier long call no warm-up is needed: threads,
    // code and the allocator's blocks are ready. The next run of a long call is as good as a sample
    // and is expensive; samples of shorter calls have a lead-in call.
    const double earlier_ns = runner.calls.earlier_ns;
    const double known_ns = runner.calls.sampled_ns > 0      ? runner.calls.sampled_ns
                            : earlier_ns >= lead_in_below_ns ? earlier_ns
                                                             : 0;
    if (known_ns > 0) {
      runner.call_ns = known_ns;
      return choose_iterations(runner);
    }
    const auto start = Clock::now();
    const LeaveOnExit entered(runner.calls);
    for (int calls = 0; !cancelled(); ++calls) {
      const double spent = nanoseconds_since(start);
      if (calls >= 3 && spent >= warm_up_ns) break;
      if (calls >= 1 && spent >= one_is_warm_ns) break;
      if (runner.calls.before_call) runner.calls.before_call();
      options_.stopwatch.start();
      call(runner);
      runner.call_ns = std::min(runner.call_ns, options_.stopwatch.stop_ns());
    }
    choose_iterations(runner);
    runner.spent_ns += nanoseconds_since(start);
  }

  static void choose_iterations(Runner& runner) {
    runner.iterations = static_cast<int>(
        std::clamp(std::ceil(sample_ns / std::max(runner.call_ns, 1.0)), 1.0, 1e6));
  }

  /// One group of iterations. A sample is repeated if the allocator had to request memory from the
  /// system, because another contender had emptied the cache, and page faults are not its own time.
  /// It is also repeated if the machine was suspended, because calls after that began with cold
  /// caches.
  void add_sample(Runner& runner, int round) {
    const auto start = Clock::now();
    for (int attempt = 0; attempt <= retakes; ++attempt) {
      std::int64_t fresh = options_.memory.counters().fresh;
      const LeaveOnExit entered(runner.calls);
      if (runner.call_ns < lead_in_below_ns) {
        if (runner.calls.before_call) runner.calls.before_call();
        call(runner);
        fresh = options_.memory.counters().fresh;
      }
      const auto asleep = options_.time_asleep();
      const auto sample = timed(runner, round);
      if (!sample) return;  // cancelled
      const bool disturbed = options_.memory.counters().fresh != fresh ||
                             options_.time_asleep() - asleep >= least_suspend;
      if (disturbed && attempt < retakes) continue;
      runner.call_ns = std::min(runner.call_ns, sample->time_ns);
      runner.result.samples.push_back(*sample);
      // Load and throttling are known later, for longer windows.
      runner.is_held_up = is_disturbed(*sample, options_.threads);
      if (auto wrong = runner.calls.judge()) {
        runner.result.failure = std::move(wrong);
        runner.out = true;
        return;
      }
      break;
    }
    const double spent = nanoseconds_since(start);
    runner.spent_ns += spent;
    if (runner.is_held_up) runner.disturbed_ns += spent;
  }

  [[nodiscard]] std::optional<Sample> timed(const Runner& runner, int round) const {
    // Untimed work before each call divides a sample into one timed interval per call.
    const bool apart = static_cast<bool>(runner.calls.before_call);
    const int stretches = apart ? runner.iterations : 1;
    const int calls = apart ? 1 : runner.iterations;
    double spent = 0;
    Sample sample{.process = options_.process,
                  .placement = options_.placement,
                  .round = round,
                  .iterations = runner.iterations,
                  .cpu_ns = 0,
                  .waited_ns = 0};
    for (int stretch = 0; stretch < stretches; ++stretch) {
      if (apart) runner.calls.before_call();
      const OwnTimes before = own_times();
      options_.stopwatch.start();
      for (int i = 0; i < calls; ++i) {
        if (cancelled()) return std::nullopt;
        call(runner);
      }
      spent += options_.stopwatch.stop_ns();
      add_own_times(sample, before, own_times());
    }
    sample.time_ns = spent / runner.iterations;
    return sample;
  }

  [[nodiscard]] OwnTimes own_times() const {
    return options_.own_times ? options_.own_times() : own_times_meter_->read();
  }

  static void add_own_times(Sample& sample, const OwnTimes& before, const OwnTimes& after) {
    const double calls = sample.iterations;
    sample.involuntary_switches += after.involuntary_switches - before.involuntary_switches;
    *sample.cpu_ns += (after.ran_ns - before.ran_ns) / calls;
    if (!before.waited_ns || !after.waited_ns) {
      sample.waited_ns.reset();
    } else if (sample.waited_ns) {
      // The waiting time of a thread that ended meanwhile is lost.
      *sample.waited_ns += std::max(0.0, *after.waited_ns - *before.waited_ns) / calls;
    }
  }

  void judge(int round) {
    if (reference_ == runners_.end()) return;
    const PlacementRule& rule = options_.rule;
    const std::optional<double> reference_ns = reference_->time_in(round);
    for (auto runner = runners_.begin(); runner != runners_.end(); ++runner) {
      if (const std::optional<double> time_ns = runner->time_in(round)) {
        runner->known.add(*time_ns);
        if (runner != reference_ && reference_ns) runner->known.add_pair(*time_ns, *reference_ns);
        runner->result.settled = runner->known.knows_median(rule) &&
                                 (runner == reference_ || runner->known.knows_ratio(rule));
      }
      if (std::ssize(runner->result.samples) >= rule.least_samples &&
          runner->has_had_its_time(rule))
        runner->out = true;
    }
  }

  /// Once the reference is done, the ratio's interval no longer shrinks.
  [[nodiscard]] bool is_done(const Runner& runner) const {
    return runner.out || runner.result.settled ||
           (reference_->out && runner.known.knows_median(options_.rule));
  }

  [[nodiscard]] bool all_done() const {
    return std::ranges::all_of(runners_, [this](const Runner& runner) { return is_done(runner); });
  }

  [[nodiscard]] std::vector<std::size_t> order_of(int round) const {
    std::vector<std::size_t> order(runners_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto place = static_cast<std::uint64_t>(options_.placement);
    shuffle(std::span(order),
            random_bits(random_bits(options_.seed, place), static_cast<std::uint64_t>(round)));
    return order;
  }

  /// Assigns the load and the conditions of a closed window to the samples in it.
  void tag_with_load(double load) {
    if (load < 0) return;
    const Conditions conditions = options_.conditions.since_start();
    for (Runner& runner : runners_) {
      auto& samples = runner.result.samples;
      for (auto sample = samples.rbegin(); sample != samples.rend(); ++sample) {
        if (sample->round < first_untagged_round_) break;
        sample->foreign_load = load;
        sample->clock_mhz = conditions.clock_mhz;
        sample->temperature_c = conditions.temperature_c;
        sample->power_w = conditions.power_w;
        sample->throttled = conditions.throttled;
      }
      if (!samples.empty()) last_round_ = std::max(last_round_, samples.back().round);
    }
    first_untagged_round_ = last_round_ + 1;
  }

  const RoundsOptions& options_;
  std::vector<Runner> runners_;
  std::vector<Runner>::iterator reference_ = runners_.end();  // of all ratios, once it is warm
  LoadMeter load_;
  std::optional<OwnTimesMeter> own_times_meter_;
  int first_untagged_round_ = 0;
  int last_round_ = -1;
};

int share(int count, int placements) {
  return (count + placements - 1) / placements;
}

}  // namespace

std::vector<ContenderSamples> run_rounds(std::span<const ContenderCalls> contenders,
                                         const RoundsOptions& options) {
  return Rounds(contenders, options).run();
}

PlacementRule placement_rule(const StopRule& rule) {
  const int placements = std::max(rule.placements, 1);
  return {.relative_interval = rule.relative_interval,
          .ratio_interval = rule.relative_interval / 2,
          .seconds = rule.max_seconds / placements,
          .settled_samples = std::max(3, share(rule.min_samples, placements)),
          .least_samples = share(3, placements)};
}

void OrderedValues::add(double value) {
  values_.insert(std::upper_bound(values_.begin(), values_.end(), value), value);
}

double OrderedValues::half_width() const {
  if (values_.empty()) return std::numeric_limits<double>::infinity();
  const auto n = static_cast<double>(values_.size());
  const double reach = 1.96 * std::sqrt(n);
  const double last = n - 1;
  // Ranks (n -+ 1.96 sqrt(n)) / 2, counted from 1, rounded outwards.
  const double low = std::clamp(std::floor((n - reach) / 2) - 1, 0.0, last);
  const double high = std::clamp(std::ceil((n + reach) / 2), 0.0, last);
  return (values_[static_cast<std::size_t>(high)] - values_[static_cast<std::size_t>(low)]) / 2;
}

double OrderedValues::relative_half_width() const {
  if (values_.empty()) return std::numeric_limits<double>::infinity();
  const double middle = (values_[values_.size() / 2] + values_[(values_.size() - 1) / 2]) / 2;
  return middle > 0 ? half_width() / middle : std::numeric_limits<double>::infinity();
}

void SampledSoFar::add_pair(double time_ns, double reference_ns) {
  if (time_ns > 0 && reference_ns > 0) log_ratios_.add(std::log(time_ns / reference_ns));
}

bool SampledSoFar::knows_median(const PlacementRule& rule) const {
  return times_.count() >= rule.settled_samples &&
         times_.relative_half_width() <= rule.relative_interval;
}

bool SampledSoFar::knows_ratio(const PlacementRule& rule) const {
  return log_ratios_.count() >= rule.settled_samples &&
         log_ratios_.half_width() <= rule.ratio_interval;
}

}  // namespace attnscope::measure
