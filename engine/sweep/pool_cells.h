#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One heat measured by several worker processes becomes one result: samples pooled, a cell ok only
// when it was ok in every process.

#include <string>
#include <vector>

#include "engine/heat/cell.h"

namespace attnscope {

struct PooledHeat {
  HeatResult result;
  std::vector<std::string> warnings;
};

/// `shares` hold the same contenders in the same order, at least one share. A share that measured
/// another batch is left out with a warning, since its times are of another problem.
[[nodiscard]] PooledHeat pool_cells(std::vector<HeatResult> shares);

}  // namespace attnscope
