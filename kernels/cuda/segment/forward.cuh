#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Forward: queries stationary, keys and values streaming, one softmax over all of a row's keys
// (online: Milakov and Gimelshein, 2018). Scores are kept in units of log2, so that a weight is one
// exp2.

#include "kernels/cuda/segment/merged_row.cuh"
#include "kernels/cuda/segment/strips.cuh"

namespace attnscope::cuda {

/// Over the four lanes that share a row.
__device__ __forceinline__ float row_maximum(float x) {
  x = fmaxf(x, __shfl_xor_sync(all_lanes, x, 1));
  return fmaxf(x, __shfl_xor_sync(all_lanes, x, 2));
}
__device__ __forceinline__ float row_sum(float x) {
  x += __shfl_xor_sync(all_lanes, x, 1);
  return x + __shfl_xor_sync(all_lanes, x, 2);
}

template <typename T, int Columns>
struct ForwardStrip {
  using Stage = cuda::Stage<T, Columns, false>;
  using Product = Products<T, Columns>;
  // Two slots share one maximum, one rescaling and one latency of the shuffles.
  static constexpr int slots_at_once = Columns == 64 ? 2 : 1;

  typename Product::Stationary q;
  float factor;  // of scores: scale * log2(e)
  float o[Columns / 8][4];
  float maximum[2];  // of rows g and g + 8
  float sum[2];      // this lane's share

  __device__ ForwardStrip(const typename Product::Stationary& queries, float scale)
      : q(queries), factor(scale * log2_e) {}
  __device__ __forceinline__ void clear() {
    set_zero<Columns>(o);
    maximum[0] = maximum[1] = minus_infinity;
    sum[0] = sum[1] = 0.0f;
  }

  template <int Slots>
  __device__ __forceinline__ void take(const UnitOfBlock& block, const Sight& sight, int position,
                                       std::byte* slots, bool careful) {
    float s[Slots][8];
    Product::scores(s, q, Stage::slab(slots, 0), Stage::slot_bytes);
#pragma unroll
    for (int u = 0; u < Slots; ++u) {
      scale_and_mask(block, sight, position + u * slot_tokens, s[u]);
    }
    weigh<Slots>(s);
#pragma unroll
    for (int u = 0; u < Slots; ++u) {
      const std::byte* values = Stage::slab(slots + u * Stage::slot_bytes, 1);
      if (careful && !sight.is_whole(position + u * slot_tokens, block.arguments.list.indices)) {
        const unsigned seen = sight.seen(position + u * slot_tokens, block.arguments.list);
        Product::template accumulate_careful<Columns>(o, s[u], seen, values, 0);
      } else {
        Product::template accumulate<Columns>(o, s[u], values, 0);
      }
    }
  }

  __device__ __forceinline__ void scale_and_mask(const UnitOfBlock& block, const Sight& sight,
                                                 int position, float (&s)[8]) const {
#pragma unroll
    for (int e = 0; e < 8; ++e) s[e] *= factor;
    if (sight.is_whole(position, block.arguments.list.indices)) return;
    const unsigned seen = sight.seen(position, block.arguments.list);
#pragma unroll
    for (int e = 0; e < 8; ++e) s[e] = (seen >> e & 1u) != 0 ? s[e] : minus_infinity;
  }

  /// Scores become weights relative to the new maximum; what was summed before is rescaled.
  template <int Slots>
  __device__ __forceinline__ void weigh(float (&s)[Slots][8]) {
    float rescale[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float largest = maximum[i];
#pragma unroll
      for (int u = 0; u < Slots; ++u) {
        largest = fmaxf(largest, fmaxf(fmaxf(s[u][2 * i], s[u][2 * i + 1]),
                                       fmaxf(s[u][2 * i + 4], s[u][2 * i + 5])));
      }
      largest = row_maximum(largest);
      // A row that has seen nothing yet must not subtract infinities.
      const float base = largest == minus_infinity ? 0.0f : largest;
      rescale[i] = exp2_approx(maximum[i] - base);
      maximum[i] = largest;
      sum[i] *= rescale[i];
#pragma unroll
      for (int u = 0; u < Slots; ++u) {
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          const int e = 2 * i + (c & 1) + 4 * (c >> 1);
          s[u][e] = exp2_approx(s[u][e] - base);
          sum[i] += s[u][e];
        }
      }
    }
    // With many columns a vote is cheaper than products by 1.
    if (Columns >= 64 &&
        __any_sync(all_lanes, rescale[0] != 1.0f || rescale[1] != 1.0f ? 1 : 0) == 0) {
      return;
    }
#pragma unroll
    for (int n = 0; n < Columns / 8; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) o[n][e] *= rescale[e >> 1];
    }
  }
};

template <typename T>
struct ForwardMerger {
  const UnitOfBlock& block;
  const ForwardArguments& call;

  __device__ __forceinline__ void operator()(const MergedRows& rows) const {
    const UnitArguments& a = block.arguments;
    const HeadRows<std::byte> out(call.o, block.head);
    const std::int64_t step = static_cast<std::int64_t>(rows.merge.run.count) * a.partial_pitch;
#pragma unroll 1
    for (int row = rows.first; row < rows.last; ++row) {
      const int token = token_of(rows.merge.run, a.list.indices, row);
      float* lse = call.lse == nullptr
                       ? nullptr
                       : call.lse + static_cast<std::int64_t>(token) * a.heads + block.head;
      merge_row<T>({partial_row(block, rows.merge.first_slot + row), step, rows.merge.parts},
                   a.head_dim, out.at(Place(a.items, token)), lse);
    }
  }
};

template <typename T, int Columns>
__device__ __forceinline__ void finish(const UnitOfBlock& block, const ForwardArguments& call,
                                       const ForwardStrip<T, Columns>& strip, std::byte* slab) {
  const UnitArguments& a = block.arguments;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int g = lane >> 2;
  const float sum[2] = {row_sum(strip.sum[0]), row_sum(strip.sum[1])};
  const WorkRun run = block.run();
  const WorkPart part = block.part();
  const bool is_partial = part.merge >= 0;
  if (is_partial) {
    leave_partial<Columns>(block, strip.o, 0, 0);
  } else {
    const float inverse[2] = {inverse_of(sum[0]), inverse_of(sum[1])};
    store_rows<T, Columns, Columns>(block, slab, HeadRows<std::byte>(call.o, block.head), strip.o,
                                    inverse, 0);
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = g + 8 * i;
    if ((lane & 3) != 0 || row >= run.count) continue;
    if (is_partial) {
      float* to = partial_row(block, part.first_slot + row) + a.head_dim;
      to[0] = strip.maximum[i];
      to[1] = sum[i];
    } else if (call.lse != nullptr) {
      const std::int64_t token = token_of(run, a.list.indices, row);
      call.lse[token * a.heads + block.head] = log_sum_exp(strip.maximum[i], sum[i]);
    }
  }
}

/// Registers a thread: 96 let an SM's 65,536 hold four blocks of 4 + 1 warps (w = 4) or two of 8 +
/// 1 (w = 64); 168 one of 8 + 3.
template <typename T, int Columns>
inline constexpr int forward_registers = Columns > 64               ? 255
                                         : Columns > 32             ? 168
                                         : std::is_same_v<T, float> ? 128
                                                                    : 96;

template <typename T, int Columns>
__global__ void __maxnreg__((forward_registers<T, Columns>))
    segment_forward_kernel(ForwardArguments call) {
  const UnitOfBlock block(call.units, 1);
  const HeadRows<const std::byte> queries(call.q, block.head);
  std::byte* slab = slab_of_warp<T, Columns, false>(block.warp(), block.warps(), 0);
  int* votes = votes_of_block();
  fill_slab<T, Columns>(block, slab, queries);
  ForwardStrip<T, Columns> strip({slab, queries, block.run(), call.units}, call.units.scale);
  const Streamed streamed{{{call.k, block.head}, {call.v, block.head}}};
  bool careful = false;
  // A result that is not finite may come from a value that its row does not see: once more, with
  // care. Rows that see no such value keep every bit.
#pragma unroll 1
  do {
    strip.clear();
    stream_past(block, streamed, strip, careful);
    careful =
        any_warp(block, votes, block.has_strip && !careful && has_non_finite<Columns>(strip.o));
  } while (careful);
  if (block.has_strip) finish(block, call, strip, slab);
  arrive(block, 1, votes, ForwardMerger<T>{block, call});
}

}  // namespace attnscope::cuda
