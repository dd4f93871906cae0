// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/pool_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace attnscope {
namespace {

// The larger error; one that is not a number is the worst of all.
std::optional<double> worst(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return a ? a : b;
  if (std::isnan(*a) || std::isnan(*b)) return std::isnan(*a) ? a : b;
  return std::max(*a, *b);
}

void pool(Cell& into, Cell&& from, std::vector<std::string>& warnings) {
  into.relative_error = worst(into.relative_error, from.relative_error);
  if (into.status != CellStatus::ok) return;
  if (from.status != CellStatus::ok) {
    into.status = from.status;
    into.reason = std::move(from.reason);
    into.samples.clear();
    into.settled = false;
    return;
  }
  if (into.batch != from.batch) {
    warnings.push_back(
        fmt::format("{}: one process measured a batch of {}, another {}; only the first is kept",
                    into.contender.id(), into.batch, from.batch));
    return;
  }
  into.samples.insert(into.samples.end(), from.samples.begin(), from.samples.end());
  into.settled = into.settled && from.settled;
}

}  // namespace

PooledHeat pool_cells(std::vector<HeatResult> shares) {
  PooledHeat pooled{.result = std::move(shares.front()), .warnings = {}};
  for (std::size_t share = 1; share < shares.size(); ++share) {
    for (std::size_t i = 0; i < pooled.result.cells.size(); ++i) {
      pool(pooled.result.cells[i], std::move(shares[share].cells[i]), pooled.warnings);
    }
  }
  for (Cell& cell : pooled.result.cells) {
    if (cell.status != CellStatus::ok) cell.samples.clear();
  }
  return pooled;
}

}  // namespace attnscope
