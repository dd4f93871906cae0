#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How long a sweep takes on this machine as it is now: the worker measures one placement of two
// heats of each setting, the shortest and a longer one, and every other heat is scaled from these.
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

namespace attnscope {

/// What one item costs a contender at one length.
struct ItemCost {
  std::int64_t tokens = 0;
  double flop = 0;   // executed
  double bytes = 0;  // at the peak, inputs and outputs included
};

/// Placements of a heat, as one worker process measured them.
struct Trial {
  struct Contender {
    double check_seconds = 0;
    double call_seconds = 0;  // median; 0: it was not timed
  };
  HeatPoint point;
  /// Inputs, plans and, where each heat starts processes of its own, their start.
  double other_seconds = 0;
  double parts_seconds = 0;    // calls that are timed part by part, once a heat
  std::vector<double> rounds;  // of each placement
  double overhead = 1;         // time of a sample over the time of its calls
  /// The longest sampling time of a contender over its time limit, at least 1: it is longer where
  /// others held samples up.
  double stretch = 1;
  std::map<std::string, Contender> contenders;  // by id
};

/// Scales the trials of one setting (heats that differ in their length alone) to its other heats.
class SettingTimes {
 public:
  /// `costs`: by contender's id, ascending lengths; no entry where the costs are not known.
  SettingTimes(std::map<std::string, std::vector<ItemCost>> costs, double free_bytes)
      : costs_(std::move(costs)), free_bytes_(free_bytes) {}

  /// In ascending order of length.
  void add(Trial trial) { trials_.push_back(std::move(trial)); }
  /// Expected duration of this heat in seconds, after at least one trial.
  [[nodiscard]] double seconds(const Heat& heat) const;
  /// What a trial of it would take.
  [[nodiscard]] double trial_seconds(const Heat& heat) const;

 private:
  struct Expected {
    double once_per_process = 0, per_placement = 0, once = 0;
  };
  [[nodiscard]] Expected expect(const Heat& heat) const;
  [[nodiscard]] ItemCost cost_of(const Contender& contender, const HeatPoint& point) const;
  [[nodiscard]] double items(const Heat& heat, const Contender& contender) const;
  template <typename Value>
  [[nodiscard]] double scaled(const Heat& heat, bool follows_trend, const Value& value) const;

  std::map<std::string, std::vector<ItemCost>> costs_;
  double free_bytes_;
  std::vector<Trial> trials_;
};

struct EstimateOptions {
  std::string worker_command;     // empty: attnscope-worker next to this program
  std::vector<std::string> with;  // programs with implementations of their own
  const std::atomic<int>* cancel = nullptr;
  /// Before each trial, its heat.
  std::function<void(const Heat&)> on_trial = [](const Heat&) {};
};

struct Estimate {
  double seconds = 0;               // of the whole run
  std::vector<HeatPoint> measured;  // where trials were made
};

/// Nothing when it was cancelled. Errors: no worker, an implementation that it does not know.
[[nodiscard]] Result<std::optional<Estimate>> estimate_sweep(const Sweep& sweep,
                                                             const EstimateOptions& options);

/// The request `costs` (docs/protocol.md) for one item of a point. `model`: the row of operation
/// model, else empty. An error when the point's length cannot hold its query.
[[nodiscard]] Result<nlohmann::json> costs_request(const AttentionPattern& pattern,
                                                   const std::string& window,
                                                   const std::string& model, const HeatPoint& point,
                                                   int cores);

/// The longest sequence whose costs are counted: a worker takes a minute for a million tokens.
inline constexpr std::int64_t most_counted_tokens = std::int64_t{1} << 18;

/// Free memory of the machine of a worker that greeted so, for heats on its processors; nothing:
/// it is not known.
[[nodiscard]] std::optional<double> free_bytes(const nlohmann::json& hello, DeviceKind device);

}  // namespace attnscope
