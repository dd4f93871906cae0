#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The attention inside a heat's models, held against the float64 reference by itself, row by row: a
// wrong row of one layer may leave the [CLS] state of a random model within rounding.
//
//   AttentionInside inside(record, sizes);
//   if (auto verdict = inside.check(contender)) ...

#include <memory>
#include <optional>

#include "engine/measure/gate.h"
#include "engine/measure/heat_record.h"
#include "engine/measure/heat_tensors.h"

namespace attnscope::measure {

class AttentionInside {
 public:
  /// On one item of the heat, in the memory order of a model's projections. Takes tensors of one
  /// layer.
  AttentionInside(HeatRecord& record, const GroupSizes& sizes);

  /// Nothing where the implementation does not take the item's plan as a whole. Throws what the
  /// implementation throws.
  [[nodiscard]] std::optional<Verdict> check(std::size_t contender);

 private:
  HeatRecord& record_;
  Heat heat_;  // the same contenders, of operation attention
  std::unique_ptr<Lineup> lineup_;
  std::optional<HeatTensors> tensors_;
  std::optional<References> references_;
};

}  // namespace attnscope::measure
