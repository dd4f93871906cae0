#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Estimates the duration of a sweep on this machine in its current state: the worker measures two
// placements of two heats of each setting, the shortest and a longer one, and the times of all
// other heats are scaled from these.
//
//   auto estimate = estimate_sweep(*load_sweep("quick"), {});
//   show((*estimate)->seconds);

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/heat/cell.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/sweep/sweep.h"
#include "engine/worker/machine_messages.h"

namespace attnscope {

/// Cost of one item for a contender at one length.
struct ItemCost {
  std::int64_t tokens = 0;
  double flop = 0;   // executed
  double bytes = 0;  // peak memory, inputs and outputs included
};

/// Placements of a heat, as measured by one worker process.
struct Trial {
  struct Contender {
    double check_seconds = 0;
    double call_seconds = 0;  // median; 0: not timed
  };
  HeatPoint point;
  /// Time of inputs and plans and, where each heat starts its own processes, of their start.
  double other_seconds = 0;
  std::vector<double> rounds;  // number of rounds at each placement
  double overhead = 1;         // time of a sample divided by the time of its calls
  /// The longest sampling time of a contender divided by its time limit, at least 1: disturbed
  /// samples prolong it.
  double stretch = 1;
  std::map<std::string, Contender> contenders;  // by id
};

/// Scales the trials of one setting (heats that differ only in length) to its other heats.
class SettingTimes {
 public:
  /// `costs`: by contender id, with ascending lengths; no entry where the costs are unknown.
  SettingTimes(std::map<std::string, std::vector<ItemCost>> costs, double free_bytes)
      : costs_(std::move(costs)), free_bytes_(free_bytes) {}

  /// Trials are added in ascending order of length.
  void add(Trial trial) { trials_.push_back(std::move(trial)); }
  /// Expected duration of this heat in seconds; requires at least one trial.
  [[nodiscard]] double seconds(const Heat& heat) const;
  /// Expected duration of a trial of this heat in seconds.
  [[nodiscard]] double trial_seconds(const Heat& heat) const;

 private:
  struct Expected {
    double once_per_process = 0, per_placement = 0, once = 0;
  };
  [[nodiscard]] Expected expect(const Heat& heat) const;
  [[nodiscard]] ItemCost cost_of(const Contender& contender, const HeatPoint& point) const;
  [[nodiscard]] double items(const Heat& heat, const Contender& contender) const;
  template <typename Seconds, typename Work>
  [[nodiscard]] double scaled(const Heat& heat, double most_slope, const Seconds& seconds_of,
                              const Work& work_of) const;

  std::map<std::string, std::vector<ItemCost>> costs_;
  double free_bytes_;
  std::vector<Trial> trials_;
};

struct EstimateOptions {
  std::string worker_command;     // empty: attnscope-worker next to this program
  std::vector<std::string> with;  // programs with additional implementations
  const std::atomic<int>* cancel = nullptr;
  /// Called before each trial with its heat.
  std::function<void(const Heat&)> on_trial = [](const Heat&) {};
};

struct Estimate {
  double seconds = 0;               // duration of the whole run
  std::vector<HeatPoint> measured;  // points with trials
};

/// Returns nothing when it was cancelled. Errors: no worker, an unknown implementation.
[[nodiscard]] Result<std::optional<Estimate>> estimate_sweep(const Sweep& sweep,
                                                             const EstimateOptions& options);

/// The request `costs` (docs/protocol.md) for one item of a point. `model`: the row of operation
/// model, otherwise empty. Returns an error when the point's length is too short for its query.
[[nodiscard]] Result<protocol::CostsRequest> costs_request(const AttentionPattern& pattern,
                                                           std::optional<Window> window,
                                                           const std::string& model,
                                                           const HeatPoint& point, int cores);

/// Heats that differ only in length, in the order of a sweep: ascending lengths.
[[nodiscard]] std::vector<std::vector<const Heat*>> settings_of(const std::vector<Heat>& heats);

/// The longest sequence whose costs are counted: a worker needs a minute for a million tokens.
inline constexpr std::int64_t most_counted_tokens = std::int64_t{1} << 18;

/// Free memory of the machine with this worker greeting, for heats on its processors; nothing if
/// unknown.
[[nodiscard]] std::optional<double> free_bytes(const protocol::Hello& hello, DeviceKind device);

}  // namespace attnscope
