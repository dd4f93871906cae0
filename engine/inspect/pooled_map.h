#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A part of a head's tokens x tokens weights, reduced for drawing: each cell holds the weight of
// largest magnitude among the pairs it covers, so that a narrow band or a single strong pair
// remains visible when many pairs share a pixel.

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/inspect/head_weights.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope {

struct MapRegion {
  TokenRange rows, columns;
  // In cells; at most one per token.
  std::int64_t height = 0;
  std::int64_t width = 0;
  friend bool operator==(const MapRegion&, const MapRegion&) = default;
};

class PooledMap {
 public:
  PooledMap() = default;
  explicit PooledMap(const MapRegion& region);

  [[nodiscard]] const MapRegion& region() const { return region_; }
  /// NaN if the cell covers no allowed pair.
  [[nodiscard]] float cell(std::int64_t y, std::int64_t x) const {
    return cells_[static_cast<std::size_t>(y * region_.width + x)];
  }
  /// The tokens that a row (column) of cells covers.
  [[nodiscard]] TokenRange rows_of(std::int64_t y) const;
  [[nodiscard]] TokenRange columns_of(std::int64_t x) const;
  /// Largest magnitude of all cells; 0 without cells.
  [[nodiscard]] float largest() const;

  /// Adds a row of weights. Precondition: `query` is in region().rows.
  void add(std::int64_t query, const RowWeights& row);
  /// A part of this map in fewer cells; a requested cell between this map's cells takes the
  /// nearest.
  [[nodiscard]] PooledMap pooled(const MapRegion& region) const;

 private:
  void join(float& cell, float value) const;

  MapRegion region_;
  std::vector<float> cells_;
  std::vector<std::int32_t> cell_of_column_;
};

/// Reads the rows of the region; empty if stopped.
[[nodiscard]] std::optional<PooledMap> pool_region(const WeightRows& weights,
                                                   const MapRegion& region, const Stopped& stopped);

}  // namespace attnscope
