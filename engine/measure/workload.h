#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the contenders of a heat compute. All else of a heat - batch, memory meters, gate,
// placements, shuffled rounds, stop rule, conditions - is the same for every operation
// (heat_runner.h): a new one is one Workload and one row in heat_runner.cpp.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/heat/cell.h"
#include "engine/heat/heat.h"
#include "engine/heat/sign_of_life.h"
#include "engine/measure/heat_device.h"
#include "engine/proof/call.h"

namespace attnscope::measure {

/// What a workload computes, and with what. Outlives it.
struct HeatSetting {
  const Heat& heat;
  const GroupSizes& sizes;
  HeatDevice& device;
  Beacon& beacon;
};

/// The first call of a contender, alone with an empty cache: what it asks for is its memory. What
/// the caller allocates between the object's making and the call counts, too.
class FirstCall {
 public:
  FirstCall(const HeatSetting& setting, std::size_t contender);
  /// Once; the beacon stays lit until the caller has fetched what the call left.
  void measure(const std::function<void()>& call);

  CellMemory memory;
  double time_ns = 0;                // on a device that of handing it over, far less
  std::vector<std::int64_t> blocks;  // that such a call needs

 private:
  const HeatSetting& setting_;
  std::size_t contender_;
  EmptyCache alone_;
  HeatMemory::Counters before_;
};

/// Contenders are known by their place in the heat. Whatever throws ends the contender alone, but
/// place() and before_rounds(), which end all that are left.
class Workload {
 public:
  Workload() = default;
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;
  virtual ~Workload() = default;

  /// Whether all contenders have the same batch.
  [[nodiscard]] virtual bool shares_batch() const { return true; }
  /// The batch of all contenders, where the heat says it and memory does not decide; 0 elsewhere.
  [[nodiscard]] virtual std::int64_t given_batch() const { return 0; }
  /// Bytes that one item takes whoever computes it.
  [[nodiscard]] virtual std::int64_t item_bytes() const = 0;
  /// Bytes that a contender needs for so many items, inputs and outputs included, before any of
  /// them is allocated; below 0 where nobody can count them. An error says what it cannot do.
  [[nodiscard]] virtual Result<std::int64_t> needed_bytes(std::size_t contender,
                                                          std::int64_t batch) = 0;
  /// The contender's batch is decided. The work of its calls, or what it cannot do.
  [[nodiscard]] virtual Result<CellWork> take(std::size_t contender, std::int64_t batch) = 0;
  /// Of what a contender keeps of its items between calls, once it was prepared; absent: nothing.
  [[nodiscard]] virtual std::optional<std::int64_t> cache_bytes(std::size_t /*contender*/) const {
    return std::nullopt;
  }

  /// What the contenders share lies elsewhere at every placement, in memory taken anew.
  virtual void place(int placement) = 0;
  /// What a contender has made of it; after place().
  [[nodiscard]] virtual Status prepare(std::size_t /*contender*/) { return {}; }

  /// One call, watched: what it did that it must not.
  [[nodiscard]] virtual Verdict check(std::size_t contender, FirstCall& first) = 0;
  /// What that call left, against the float64 reference.
  [[nodiscard]] virtual Verdict judge(std::size_t contender) = 0;

  /// All checks are over, and timed calls follow at this placement.
  virtual void before_rounds() {}
  virtual void enter(std::size_t /*contender*/) {}  // before a sample
  /// What comes before every timed call, untimed; empty where nothing does.
  [[nodiscard]] virtual std::function<void()> before_call(std::size_t /*contender*/) { return {}; }
  virtual void call(std::size_t contender) = 0;     // the timed one
  virtual void leave(std::size_t /*contender*/) {}  // after a sample, also when a call threw
  /// What the last call of a sample left.
  [[nodiscard]] virtual Verdict judge_sample(std::size_t contender) = 0;
  /// Where the time of a call goes, by one more call; empty where no parts are known.
  [[nodiscard]] virtual std::vector<PartTime> parts_of_call(std::size_t /*contender*/) {
    return {};
  }
};

/// Operations attention and windowed-matmul.
[[nodiscard]] std::unique_ptr<Workload> attention_workload(const HeatSetting& setting);
/// Operation model: re-rankers, from token ids to scores or a stage of that.
[[nodiscard]] std::unique_ptr<Workload> model_workload(const HeatSetting& setting);

/// The same operation's stages of training: forward, gradients, optimiser, a whole step.
[[nodiscard]] std::unique_ptr<Workload> train_workload(const HeatSetting& setting);

/// Throws std::runtime_error with the error: for calls, whose errors end the contender as crashed.
void require(const Status& done);

}  // namespace attnscope::measure
