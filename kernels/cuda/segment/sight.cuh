#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a strip sees of a span: each of its rows an interval of tokens (kernels/cuda/work_list.h),
// without the span's left-out tokens where the rule says so. Rows ascend and rules are monotone in
// the row, so the first and last row's intervals bound what any row sees (their hull) and what all
// rows see (their common part).

#include "kernels/cuda/segment/slab.cuh"

namespace attnscope::cuda {

struct Interval {
  int low, high;  // high exclusive
};

__device__ inline int clamp_token(std::int64_t token, int low, int high) {
  return token < low ? low : (token > high ? high : static_cast<int>(token));
}

/// Tokens that the stationary token t sees, within [begin, end) = the rule's and the span's.
__device__ inline Interval interval_of(const WorkRule& rule, int begin, int end, int t) {
  const std::int64_t opposite = static_cast<std::int64_t>(t) + rule.offset;
  switch (rule.kind) {
    case RuleKind::whole:
      return {begin, end};
    case RuleKind::band:
      return {clamp_token(opposite - rule.window, begin, end),
              clamp_token(opposite + rule.window + 1, begin, end)};
    case RuleKind::block: {
      const std::int64_t from = opposite - rule.origin;
      std::int64_t block = from / rule.window;
      if (from < 0 && block * rule.window != from) --block;
      const std::int64_t low = rule.origin + block * rule.window - rule.back;
      return {clamp_token(low, begin, end), clamp_token(low + rule.window, begin, end)};
    }
    default:
      return {begin, begin};
  }
}

struct Sight {
  WorkRun run;  // the span's
  int skips;    // -1, or the first word of the bitmap of left-out tokens
  int skip_origin;
  int low[2];  // of the lane's rows g and g + 8
  int length[2];
  Interval common;            // what all rows see
  int first_slot, last_slot;  // of the span: those that the strip takes (last exclusive)

  /// `strip`: at least one row.
  __device__ __forceinline__ void look(const WorkSpan& span, const WorkRule& rule,
                                       const WorkRun& strip, const std::int32_t* indices) {
    run = span.run;
    skips = rule.skips != 0 ? span.skips : -1;
    skip_origin = span.skip_origin;
    const bool listed = run.listed != 0;
    const int begin = listed ? rule.begin : max(rule.begin, run.begin);
    const int end = max(begin, listed ? rule.end : min(rule.end, run.begin + run.count));
    const Interval first = interval_of(rule, begin, end, token_of(strip, indices, 0));
    const Interval last = interval_of(rule, begin, end, token_of(strip, indices, strip.count - 1));
    const int g = (static_cast<int>(threadIdx.x) & 31) >> 2;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = min(g + 8 * i, strip.count - 1);
      const Interval mine = interval_of(rule, begin, end, token_of(strip, indices, row));
      low[i] = mine.low;
      length[i] = mine.high - mine.low;
    }
    common = {last.low, first.high};
    const int slots = (run.count + slot_tokens - 1) / slot_tokens;
    const bool nothing = first.low >= last.high;
    first_slot = nothing ? 0 : (listed ? 0 : (first.low - run.begin) / slot_tokens);
    last_slot =
        nothing ? 0 : (listed ? slots : (last.high - run.begin + slot_tokens - 1) / slot_tokens);
  }

  /// Whether every row sees all 16 tokens of the slot at `position`.
  __device__ __forceinline__ bool is_whole(int position, const std::int32_t* indices) const {
    if (skips >= 0 || position + slot_tokens > run.count) return false;
    return token_of(run, indices, position) >= common.low &&
           token_of(run, indices, position + slot_tokens - 1) < common.high;
  }

  /// The lane's elements of a score fragment that are seen, a bit each.
  __device__ __forceinline__ unsigned seen(int position, const DeviceList& list) const {
    const int t = static_cast<int>(threadIdx.x) & 3;
    unsigned bits = 0;
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const int column = position + 2 * t + (c & 1) + 8 * (c >> 1);
      const int e = (c & 1) + 4 * (c >> 1);
      const bool exists = column < run.count;
      const int token = exists ? token_of(run, list.indices, column) : 0;
      bool in0 = exists && is_in(token, 0);
      bool in1 = exists && is_in(token, 1);
      if (skips >= 0 && (in0 || in1) && left_out(token, list)) in0 = in1 = false;
      bits |= (in0 ? 1u << e : 0u) | (in1 ? 4u << e : 0u);
    }
    return bits;
  }

 private:
  __device__ __forceinline__ bool is_in(int token, int i) const {
    return static_cast<unsigned>(token - low[i]) < static_cast<unsigned>(length[i]);
  }
  __device__ __forceinline__ bool left_out(int token, const DeviceList& list) const {
    const int bit = token - skip_origin;
    return (list.skip_words[skips + (bit >> 5)] >> (bit & 31) & 1u) != 0;
  }
};

}  // namespace attnscope::cuda
