#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The keys of the columns that a segment has in a row of scores (windowed_layout.h), by the same
// rule on all devices. Small enough to be inlined everywhere, also for other instruction sets.
//
//   segment                            columns             of them column 0
//   whole, or a band of fewer than     one a key           the run's first key
//   2w+1 keys
//   band                               2w+1                the key w before the opposite one
//   block                              the block's length  the block's first key
//
// No row therefore has more columns than its run has keys. A band stored by key also has columns
// outside the row's window, if w is below the number of keys - 1.

#include <cstdint>

#include "kernels/plan/attention_plan.h"

namespace attnscope {

/// Whether the columns are the run's keys, the same for all rows.
[[nodiscard, gnu::always_inline]] constexpr bool stored_by_key(const Segment& segment) {
  const std::int64_t keys = segment.keys.end - segment.keys.begin;
  return segment.kind == SegmentKind::whole ||
         (segment.kind == SegmentKind::band && segment.window >= keys - keys / 2);
}

/// Number of floats that a segment has in one row.
[[nodiscard, gnu::always_inline]] constexpr std::int64_t columns_of(const Segment& segment) {
  const std::int64_t keys = segment.keys.end - segment.keys.begin;
  if (stored_by_key(segment)) return keys;
  if (segment.kind == SegmentKind::band) return 2 * segment.window + 1;
  return segment.window < keys ? segment.window : keys;
}

/// The key of column 0 in the row of `query`, for whole segments and bands; in a band's first rows
/// it may be before the run.
[[nodiscard, gnu::always_inline]] constexpr std::int64_t first_column_key(const Segment& segment,
                                                                          std::int64_t query) {
  if (stored_by_key(segment)) return segment.keys.begin;
  return query + segment.offset - segment.window;
}

}  // namespace attnscope
