// SPDX-License-Identifier: Apache-2.0
#include "engine/inspect/pooled_map.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "kernels/plan/key_runs.h"

namespace attnscope {
namespace {

/// The first token of cell `at` if `range` is divided into `cells` parts whose sizes differ by at
/// most one.
std::int64_t cut(TokenRange range, std::int64_t cells, std::int64_t at) {
  return range.begin + range.size() * at / cells;
}

/// The cell that contains `token`, the inverse of cut.
std::int64_t cell_of(TokenRange range, std::int64_t cells, std::int64_t token) {
  return ((token - range.begin + 1) * cells - 1) / range.size();
}

}  // namespace

PooledMap::PooledMap(const MapRegion& region)
    : region_(region),
      cells_(static_cast<std::size_t>(region.height * region.width),
             std::numeric_limits<float>::quiet_NaN()) {
  assert(region.height <= region.rows.size() && region.width <= region.columns.size());
  cell_of_column_.reserve(static_cast<std::size_t>(region.columns.size()));
  for (std::int64_t j = region.columns.begin; j < region.columns.end; ++j) {
    cell_of_column_.push_back(static_cast<std::int32_t>(cell_of(region.columns, region.width, j)));
  }
}

TokenRange PooledMap::rows_of(std::int64_t y) const {
  return {cut(region_.rows, region_.height, y), cut(region_.rows, region_.height, y + 1)};
}

TokenRange PooledMap::columns_of(std::int64_t x) const {
  return {cut(region_.columns, region_.width, x), cut(region_.columns, region_.width, x + 1)};
}

float PooledMap::largest() const {
  float largest = 0;
  for (const float cell : cells_) {
    if (std::abs(cell) > largest) largest = std::abs(cell);
  }
  return largest;
}

void PooledMap::join(float& cell, float value) const {
  if (!(std::abs(cell) >= std::abs(value))) cell = value;  // also if the cell is NaN
}

void PooledMap::add(std::int64_t query, const RowWeights& row) {
  const std::int64_t y = cell_of(region_.rows, region_.height, query);
  float* cells = cells_.data() + y * region_.width;
  for (const TokenRange& keys : row.keys) {
    const TokenRange inside = intersect(keys, region_.columns);
    for (std::int64_t j = inside.begin; j < inside.end; ++j) {
      join(cells[cell_of_column_[static_cast<std::size_t>(j - region_.columns.begin)]],
           row.weights[static_cast<std::size_t>(j)]);
    }
  }
}

PooledMap PooledMap::pooled(const MapRegion& region) const {
  PooledMap smaller(region);
  std::vector<std::int64_t> first(static_cast<std::size_t>(region.width));
  std::vector<std::int64_t> last(first.size());
  for (std::int64_t x = 0; x < region.width; ++x) {
    const TokenRange tokens = smaller.columns_of(x);
    first[static_cast<std::size_t>(x)] = cell_of(region_.columns, region_.width, tokens.begin);
    last[static_cast<std::size_t>(x)] = cell_of(region_.columns, region_.width, tokens.end - 1);
  }
  for (std::int64_t y = 0; y < region.height; ++y) {
    const TokenRange tokens = smaller.rows_of(y);
    const std::int64_t top = cell_of(region_.rows, region_.height, tokens.begin);
    const std::int64_t bottom = cell_of(region_.rows, region_.height, tokens.end - 1);
    for (std::int64_t from = top; from <= bottom; ++from) {
      for (std::int64_t x = 0; x < region.width; ++x) {
        float& cell = smaller.cells_[static_cast<std::size_t>(y * region.width + x)];
        const auto at = static_cast<std::size_t>(x);
        for (std::int64_t column = first[at]; column <= last[at]; ++column) {
          if (const float value = this->cell(from, column); !std::isnan(value)) join(cell, value);
        }
      }
    }
  }
  return smaller;
}

std::optional<PooledMap> pool_region(const WeightRows& weights, const MapRegion& region,
                                     const Stopped& stopped) {
  PooledMap map(region);
  RowWeights row;
  for (std::int64_t query = region.rows.begin; query < region.rows.end; ++query) {
    if (stopped && stopped()) return std::nullopt;
    weights.row(query, row);
    map.add(query, row);
  }
  return map;
}

}  // namespace attnscope
