#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The block of a row unit: which strip of 16 rows each warp has, and where the strip's columns lie.
// Where a unit has one or two strips, several warps share one and take its steps in turn.

#include "kernels/cuda/windowed/products.cuh"

namespace attnscope::cuda::windowed {

struct Strip {
  int strip = 0;  // rows 16 strip ... of the unit
  int share = 0;  // of `shares` warps
  int shares = 1;
  bool active = false;

  __device__ explicit Strip(std::int32_t rows) {
    const int strips = (rows + strip_rows - 1) / strip_rows;
    shares = warps / strips;
    strip = warp_id() % strips;
    share = warp_id() / strips;
    active = share < shares;
  }
};

/// A strip's rows against one span.
struct StripPlaces {
  std::int32_t rows;       // 1 to 16
  std::int32_t low, high;  // places of the columns of all of them
  std::int32_t origin;     // in lane r, of row r % 16; where there is none, of the last row

  __device__ StripPlaces(const DeviceLists& lists, const RowUnit& unit, const Rule& rule,
                         int strip) {
    const std::int32_t first = strip * strip_rows;
    rows = unit.rows.count - first < strip_rows ? unit.rows.count - first : strip_rows;
    const std::int32_t row = lane_id() % strip_rows < rows ? lane_id() % strip_rows : rows - 1;
    origin = origin_of(
        rule, token_of(lists.indices, unit.rows.listed != 0, unit.rows.begin + first + row));
    low = __shfl_sync(all_lanes, origin, 0);
    high = __shfl_sync(all_lanes, origin, strip_rows - 1) + rule.width;
  }

  __device__ std::int32_t origin_of_row(int row) const {
    return __shfl_sync(all_lanes, origin, row);
  }
};

__device__ inline std::int32_t larger(std::int32_t a, std::int32_t b) {
  return a > b ? a : b;
}
__device__ inline std::int32_t smaller(std::int32_t a, std::int32_t b) {
  return a < b ? a : b;
}

}  // namespace attnscope::cuda::windowed
