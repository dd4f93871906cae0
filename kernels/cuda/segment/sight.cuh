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

/// Lies in shared memory, one for each warp: registers decide how many blocks an SM holds.
struct Sight {
  Interval rows[strip_tokens];
  WorkRun run;                // the span's
  Interval common;            // what all rows see
  int span;                   // number in the list
  int skips;                  // whether the span's left-out tokens are not seen
  int first_slot, last_slot;  // of the span: those that the strip takes (last exclusive)

  /// By all lanes of the warp, a row each. `strip`: at least one row.
  __device__ __forceinline__ void look(const DeviceList& list, int its_span, int its_rule,
                                       const WorkRun& strip) {
    const int lane = static_cast<int>(threadIdx.x) & 31;
    const WorkRule rule = list.rules[its_rule];
    const WorkSpan its = list.spans[its_span];
    const bool listed = its.run.listed != 0;
    const int begin = listed ? rule.begin : max(rule.begin, its.run.begin);
    const int end = max(begin, listed ? rule.end : min(rule.end, its.run.begin + its.run.count));
    const Interval mine =
        interval_of(rule, begin, end, token_of(strip, list.indices, min(lane, strip.count - 1)));
    const int lowest = __shfl_sync(all_lanes, mine.low, 0);
    const int first_high = __shfl_sync(all_lanes, mine.high, 0);
    const int last_low = __shfl_sync(all_lanes, mine.low, 31);
    const int highest = __shfl_sync(all_lanes, mine.high, 31);
    __syncwarp();  // the last span's readers are done
    if (lane < strip_tokens) rows[lane] = mine;
    if (lane == 0) {
      run = its.run;
      common = {last_low, first_high};
      span = its_span;
      skips = rule.skips != 0 && its.skips >= 0 ? 1 : 0;
      const int slots = (its.run.count + slot_tokens - 1) / slot_tokens;
      const bool nothing = lowest >= highest;
      first_slot = nothing || listed ? 0 : (lowest - its.run.begin) / slot_tokens;
      last_slot = nothing  ? 0
                  : listed ? slots
                           : (highest - its.run.begin + slot_tokens - 1) / slot_tokens;
    }
    __syncwarp();
  }

  /// Whether every row sees all 16 tokens of the slot at `position`.
  __device__ __forceinline__ bool is_whole(int position, const std::int32_t* indices) const {
    if (skips != 0 || position + slot_tokens > run.count) return false;
    return token_of(run, indices, position) >= common.low &&
           token_of(run, indices, position + slot_tokens - 1) < common.high;
  }

  /// The lane's elements of a score fragment that are seen, a bit each.
  __device__ __forceinline__ unsigned seen(int position, const DeviceList& list) const {
    const int t = static_cast<int>(threadIdx.x) & 3;
    const int g = (static_cast<int>(threadIdx.x) & 31) >> 2;
    const Interval row0 = rows[g];
    const Interval row1 = rows[g + 8];
    unsigned bits = 0;
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const int column = position + 2 * t + (c & 1) + 8 * (c >> 1);
      const int e = (c & 1) + 4 * (c >> 1);
      const bool exists = column < run.count;
      const int token = exists ? token_of(run, list.indices, column) : 0;
      bool in0 = exists && is_in(token, row0);
      bool in1 = exists && is_in(token, row1);
      if (skips != 0 && (in0 || in1) && left_out(token, list)) in0 = in1 = false;
      bits |= (in0 ? 1u << e : 0u) | (in1 ? 4u << e : 0u);
    }
    return bits;
  }

 private:
  static __device__ __forceinline__ bool is_in(int token, const Interval& row) {
    return token >= row.low && token < row.high;
  }
  __device__ __forceinline__ bool left_out(int token, const DeviceList& list) const {
    const WorkSpan& skipping = list.spans[span];
    const int bit = token - skipping.skip_origin;
    return (list.skip_words[skipping.skips + (bit >> 5)] >> (bit & 31) & 1u) != 0;
  }
};

}  // namespace attnscope::cuda
