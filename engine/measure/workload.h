#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The computation of a heat's contenders. Everything else in a heat (batch, memory meters,
// correctness gate, placements, shuffled rounds, stop rule, conditions) is the same for every
// operation (heat_runner.h): a new operation is one Workload and one row in heat_runner.cpp.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/heat/cell.h"
#include "engine/heat/heat.h"
#include "engine/measure/heat_device.h"
#include "engine/proof/call.h"
#include "engine/worker/sign_of_life.h"

namespace attnscope::measure {

/// What a workload computes and on which device. Must outlive the workload.
struct HeatSetting {
  const Heat& heat;
  const GroupSizes& sizes;
  HeatDevice& device;
  Beacon& beacon;
};

/// The first call of a contender, alone and with an empty cache: its allocations are the
/// contender's memory. Allocations by the caller between construction and the call count, too.
class FirstCall {
 public:
  FirstCall(const HeatSetting& setting, std::size_t contender);
  /// Call it once. The beacon stays set until the caller has fetched the call's output.
  void measure(const std::function<void()>& call);

  CellMemory memory;
  double time_ns = 0;                // on a device, the time to submit it, which is much shorter
  std::vector<std::int64_t> blocks;  // cached blocks that such a call needs

 private:
  const HeatSetting& setting_;
  std::size_t contender_;
  EmptyCache alone_;
  HeatMemory::Counters before_;
};

/// Contenders are identified by their index in the heat. An exception ends only its contender,
/// except in place() and before_rounds(), where it ends all remaining ones.
class Workload {
 public:
  Workload() = default;
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;
  virtual ~Workload() = default;

  /// Whether all contenders have the same batch.
  [[nodiscard]] virtual bool shares_batch() const { return true; }
  /// The batch of all contenders where the heat specifies it and memory does not decide; otherwise
  /// 0.
  [[nodiscard]] virtual std::int64_t given_batch() const { return 0; }
  /// Bytes of one item, independent of the contender.
  [[nodiscard]] virtual std::int64_t item_bytes() const = 0;
  /// Bytes that a contender needs for a batch of this size, inputs and outputs included, before any
  /// of them is allocated; negative where they cannot be counted. An error states what the
  /// contender does not support.
  [[nodiscard]] virtual Result<std::int64_t> needed_bytes(std::size_t contender,
                                                          std::int64_t batch) = 0;
  /// Called once the contender's batch is decided. Returns the work of its calls, or an error that
  /// states what it does not support.
  [[nodiscard]] virtual Result<CellWork> set_batch(std::size_t contender, std::int64_t batch) = 0;
  /// Bytes that a contender keeps of its items between calls, after preparation; absent: none.
  [[nodiscard]] virtual std::optional<std::int64_t> cache_bytes(std::size_t /*contender*/) const {
    return std::nullopt;
  }

  /// Allocates the shared data of the contenders again, at other addresses for every placement.
  virtual void place(int placement) = 0;
  /// Prepares a contender from the shared data; called after place().
  [[nodiscard]] virtual Status prepare(std::size_t /*contender*/) { return {}; }

  /// Runs one checked call; the verdict reports forbidden behaviour.
  [[nodiscard]] virtual Verdict check(std::size_t contender, FirstCall& first) = 0;
  /// Compares the output of that call with the float64 reference.
  [[nodiscard]] virtual Verdict judge(std::size_t contender) = 0;

  /// Called when all checks are done and timed calls follow at this placement.
  virtual void before_rounds() {}
  virtual void enter(std::size_t /*contender*/) {}  // before a sample
  /// Untimed work before every timed call; empty if there is none.
  [[nodiscard]] virtual std::function<void()> before_call(std::size_t /*contender*/) { return {}; }
  virtual void call(std::size_t contender) = 0;     // the timed call
  virtual void leave(std::size_t /*contender*/) {}  // after a sample, also when a call threw
  /// Validates the output of a sample's last call.
  [[nodiscard]] virtual Verdict judge_sample(std::size_t contender) = 0;
  /// What a contender's calls selected by timing (PreparedAttention::selected()).
  [[nodiscard]] virtual std::string selected(std::size_t /*contender*/) { return {}; }
  /// Divides the time of one additional call among its parts; empty where no parts are known.
  [[nodiscard]] virtual std::vector<PartTime> parts_of_call(std::size_t /*contender*/) {
    return {};
  }
};

/// Operations attention and windowed-matmul.
[[nodiscard]] std::unique_ptr<Workload> attention_workload(const HeatSetting& setting);
/// Operation model: re-rankers, from token ids to scores, or one stage of them.
[[nodiscard]] std::unique_ptr<Workload> model_workload(const HeatSetting& setting);

/// Training stages of operation model: forward, gradients, optimiser, or a whole step.
[[nodiscard]] std::unique_ptr<Workload> train_workload(const HeatSetting& setting);

/// Throws std::runtime_error with the error: for calls, whose errors end the contender as crashed.
void require(const Status& done);

}  // namespace attnscope::measure
