#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The odd shapes at which attention kernels go wrong: single tokens, empty groups, lengths one off
// a window or a tile, primes, ragged batches, shared queries, many documents.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/axes.h"
#include "engine/pattern/sequence_layout.h"
#include "engine/pattern/window.h"

namespace attnscope {

struct CheckShape {
  SequenceLayout layout;
  std::int32_t heads = 2;
  std::int64_t head_dim = 32;
  DType dtype = DType::float32;
  MemoryOrder memory_order = MemoryOrder::head_major;
  Operation operation = Operation::attention;
  Direction direction = Direction::forward;

  /// "1+11+500 x 3, 2 heads x 32, head-major": [CLS], query, document of each item.
  [[nodiscard]] std::string text() const;
};

/// For patterns of blocks also items long enough to have blocks.
[[nodiscard]] std::vector<CheckShape> check_shapes(const AttentionPattern& pattern);

/// 0, 1, 4, 64 and inf for patterns that have windows; once without a window for the others.
[[nodiscard]] std::vector<std::optional<Window>> check_windows(const AttentionPattern& pattern);

}  // namespace attnscope
