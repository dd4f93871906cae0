#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The contenders of a heat at one batch: layout, plans (one for each distinct pattern and window)
// and what each implementation prepared from them. Nothing of the size of the inputs is allocated.
//
//   std::vector<std::optional<Trouble>> troubles(heat.contenders.size());
//   std::unique_ptr<Lineup> lineup = choose_lineup(heat, memory, troubles);

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/attention/implementation.h"
#include "engine/heat/heat.h"
#include "engine/measure/inputs.h"
#include "engine/measure/trouble.h"

namespace attnscope::measure {

/// A pattern with its window, compiled on the lineup's layout.
struct PlannedPattern {
  AttentionPattern pattern;
  std::optional<Window> window;
  AttentionPlan plan;
};

class Lineup {
 public:
  /// Prepares every contender that has no trouble yet, and notes the troubles of this batch.
  Lineup(const Heat& heat, SequenceLayout layout, HeatMemory& memory,
         std::vector<std::optional<Trouble>>& troubles);
  Lineup(const Lineup&) = delete;
  Lineup& operator=(const Lineup&) = delete;

  [[nodiscard]] std::int64_t batch() const { return layout_.item_count(); }
  [[nodiscard]] const SequenceLayout& layout() const { return layout_; }
  [[nodiscard]] const InputShape& shape() const { return shape_; }
  /// nullptr for a contender in trouble.
  [[nodiscard]] PreparedAttention* prepared(std::size_t contender) const {
    return prepared_[contender].get();
  }
  [[nodiscard]] const PlannedPattern& planned(std::size_t contender) const {
    return *planned_[contender];
  }
  [[nodiscard]] Problem problem(std::size_t contender) const;
  /// Inputs, outputs and the contender's own prediction; absent when it cannot be counted.
  [[nodiscard]] std::optional<std::int64_t> needed_bytes(std::size_t contender) const;

 private:
  [[nodiscard]] Result<const PlannedPattern*> plan_for(const Contender& contender);
  [[nodiscard]] std::optional<Trouble> prepare(std::size_t index, const Contender& contender,
                                               HeatMemory& memory);

  HeatPoint point_;
  SequenceLayout layout_;
  InputShape shape_;
  std::map<std::string, std::unique_ptr<const PlannedPattern>> plans_;
  std::vector<const PlannedPattern*> planned_;
  std::vector<std::unique_ptr<PreparedAttention>> prepared_;
};

/// The lineup with the largest batch, at most the heat's limit, at which all contenders that can
/// run at batch 1 fit the heat's memory budget and the machine. A contender that does not fit the
/// machine even at batch 1 is `oom`, with the bytes it would ask for. The budget never goes below
/// batch 1.
[[nodiscard]] std::unique_ptr<Lineup> choose_lineup(const Heat& heat, const GroupSizes& sizes,
                                                    HeatMemory& memory,
                                                    std::vector<std::optional<Trouble>>& troubles);

}  // namespace attnscope::measure
