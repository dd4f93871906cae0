#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// AttentionPlan: the work list of an attention pattern on a batch, as plain structs. In every
// system in scope, a run of queries attends to a list of key segments under one softmax (Schlatt et
// al., ECIR 2024, Eq. 1-3). For one item of the paper's sparse pattern with w = 4 the plan is
//
//   task  [CLS] rows     segments: whole(all tokens of the item)
//   task  query rows     segments: whole(query)
//   task  document rows  segments: whole([CLS] and query), band(document, w = 4)
//
// Tokens are numbered over the whole packed batch. Tasks appear in ascending order of their first
// query per head range; every (query token, head) belongs to exactly one task; the segments of one
// task are disjoint as key sets, so no key counts twice.

#include <cstdint>
#include <span>
#include <vector>

namespace attnscope {

struct TokenRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;  // exclusive
  [[nodiscard]] std::int64_t size() const { return end - begin; }
  [[nodiscard]] bool empty() const { return begin >= end; }
  friend bool operator==(const TokenRange&, const TokenRange&) = default;
};

/// A run of tokens: the contiguous range itself, or, if `listed`, the tokens
/// plan.indices[begin ... end) in ascending order.
struct TokenRun {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool listed = false;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
  friend bool operator==(const TokenRun&, const TokenRun&) = default;
};

enum class SegmentKind : std::uint8_t {
  whole,  // every key of the run
  band,   // key j for query i when |j - (i + offset)| <= window
  block,  // key j for query i if j is in the block of i + offset; blocks have `window` tokens and
          // start at the run's first token
};

struct Segment {
  TokenRun keys{};
  SegmentKind kind = SegmentKind::whole;
  std::int64_t window =
      0;  // band: one-sided half-width w; block: the block's length; whole: unused
  std::int64_t offset = 0;  // alignment: query i is opposite key i + offset
  // Tokens of the key range (a sub-range of plan.indices, ascending) that this segment omits
  // because another rule covers them, e.g. global sentence starts inside a document's band.
  std::int64_t skip_begin = 0;
  std::int64_t skip_end = 0;
  friend bool operator==(const Segment&, const Segment&) = default;
};

struct HeadRange {
  std::int32_t begin = 0;
  std::int32_t end = 0;
};

struct Task {
  TokenRun queries{};
  HeadRange heads{};
  std::int64_t item = -1;  // -1: shared by all items (the shared query)
  std::int64_t first_segment = 0;
  std::int64_t segment_count = 0;  // 0: the rows attend to nothing; output 0, log-sum-exp -inf
};

struct AttentionPlan {
  std::int64_t tokens = 0;
  std::int32_t heads = 0;
  std::vector<Task> tasks;
  std::vector<Segment> segments;
  std::vector<std::int64_t> indices;

  [[nodiscard]] std::span<const Segment> segments_of(const Task& task) const {
    return std::span(segments).subspan(static_cast<std::size_t>(task.first_segment),
                                       static_cast<std::size_t>(task.segment_count));
  }
  [[nodiscard]] std::span<const std::int64_t> skipped_of(const Segment& segment) const {
    return std::span(indices).subspan(
        static_cast<std::size_t>(segment.skip_begin),
        static_cast<std::size_t>(segment.skip_end - segment.skip_begin));
  }
  /// Token at position `position` of a run (position counts from run.begin).
  [[nodiscard]] std::int64_t token_at(const TokenRun& run, std::int64_t position) const {
    return run.listed ? indices[static_cast<std::size_t>(run.begin + position)]
                      : run.begin + position;
  }
};

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
