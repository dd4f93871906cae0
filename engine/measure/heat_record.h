#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The cells of a heat while they come to be, and what every contender of it is measured with:
// device, memory, beacon, cancel. Knows nothing of what a call computes.
//
//   HeatRecord record(request, hooks);
//   measure(record);                     // fills cells, notes troubles
//   return record.finish();

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/heat/sign_of_life.h"
#include "engine/measure/heat_device.h"
#include "engine/measure/heat_runner.h"
#include "engine/measure/rounds.h"
#include "engine/measure/trouble.h"

namespace attnscope::measure {

class HeatRecord {
 public:
  /// Throws std::runtime_error, in words, when ATTNSCOPE_MEMORY_LIMIT_MB is no number.
  HeatRecord(const protocol::HeatRequest& request, const HeatHooks& hooks);

  [[nodiscard]] const Heat& heat() const { return request_.heat; }
  [[nodiscard]] const std::vector<int>& placements() const { return request_.placements; }
  [[nodiscard]] HeatDevice& device() const { return device_; }
  [[nodiscard]] HeatMemory& memory() const { return memory_; }
  [[nodiscard]] Beacon& beacon() const { return beacon_; }
  [[nodiscard]] std::vector<Cell>& cells() { return cells_; }
  /// By contender; whoever has one is out.
  [[nodiscard]] std::vector<std::optional<Trouble>>& troubles() { return troubles_; }

  [[nodiscard]] bool cancelled() const;
  [[nodiscard]] bool nobody_left() const;
  /// Tells the phase; outside timed rounds only.
  void tell(std::size_t contender, std::string_view phase) const;
  void drop_all_left(const Trouble& trouble);

  /// How the rounds of a placement are run.
  [[nodiscard]] RoundsOptions rounds(int placement) const;
  /// Takes what a lane's rounds gave.
  void keep(LaneResult&& result, std::size_t contender);
  /// A cell has samples or a reason, never both. A cancelled heat is measured again whole.
  [[nodiscard]] HeatResult finish();

 private:
  void conclude(std::size_t contender);

  const protocol::HeatRequest& request_;
  const HeatHooks& hooks_;
  HeatDevice& device_;
  HeatMemory& memory_;
  Beacon unseen_;  // where nobody asks who runs
  Beacon& beacon_;
  std::vector<std::optional<Trouble>> troubles_;
  std::vector<Cell> cells_;
};

}  // namespace attnscope::measure
