#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Backward (kernels/plan/gradients.h). Weights P are computed again from the saved log-sum-exp. A
// unit of rows keeps queries and streams keys and values (grad_q); a unit of keys keeps keys and
// values and streams queries and arriving gradients (grad_k, grad_v): the transposed fragments come
// out of the same products, and each gradient is summed in one place, in one order. Nine products
// for the forward's two, without traffic between the two kinds.

#include "kernels/cuda/segment/strips.cuh"

namespace attnscope::cuda {

/// In units of log2. A row without keys has no weights: +inf makes them 0, where -inf would make
/// them infinite.
__device__ __forceinline__ float subtrahend_of(float lse) {
  return lse == minus_infinity ? -minus_infinity : lse * log2_e;
}

/// P, and dS = P (dP - D), of a slot; 0 for pairs that are not seen.
template <typename Numbers>
__device__ __forceinline__ void weigh(float (&s)[8], float (&gradient)[8], bool whole,
                                      unsigned seen, float factor, const Numbers& numbers) {
#pragma unroll
  for (int e = 0; e < 8; ++e) {
    const float weight = exp2_approx(fmaf(s[e], factor, -numbers.subtrahend(e)));
    const float by_score = weight * (gradient[e] - numbers.dot(e));
    const bool counts = whole || (seen >> e & 1u) != 0;
    s[e] = counts ? weight : 0.0f;
    gradient[e] = counts ? by_score : 0.0f;
  }
}

template <typename T, int Columns, int Kept>
struct RowsStrip {
  using Stage = cuda::Stage<T, Columns, true>;
  using Product = Products<T, Columns>;
  static constexpr int slots_at_once = 1;

  /// Of the lane's rows g and g + 8.
  struct Numbers {
    float its_subtrahend[2];
    float its_dot[2];
    __device__ __forceinline__ float subtrahend(int e) const { return its_subtrahend[e >> 1 & 1]; }
    __device__ __forceinline__ float dot(int e) const { return its_dot[e >> 1 & 1]; }
  };

  typename Product::Stationary q, grad_o;
  Numbers numbers;
  float factor;
  float sums[1][Kept / 8][4];

  __device__ RowsStrip(const UnitOfBlock& block, const BackwardArguments& call,
                       const typename Product::Stationary& queries,
                       const typename Product::Stationary& gradients)
      : q(queries), grad_o(gradients), factor(call.units.scale * log2_e) {
    const WorkRun run = block.run();
    const int g = (static_cast<int>(threadIdx.x) & 31) >> 2;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = min(g + 8 * i, run.count - 1);
      const std::int64_t token = row < 0 ? 0 : token_of(run, call.units.list.indices, row);
      const std::int64_t at = token * call.units.heads + block.head;
      numbers.its_subtrahend[i] = row < 0 ? 0.0f : subtrahend_of(call.lse[at]);
      numbers.its_dot[i] = row < 0 ? 0.0f : call.dots[at];
    }
  }
  __device__ __forceinline__ void clear() {
    set_zero<Kept>(sums[0]);
  }

  template <int Slots>
  __device__ __forceinline__ void take(const UnitOfBlock& block, const Sight& sight, int position,
                                       std::byte* slot, bool careful) {
    const std::byte* keys = Stage::slab(slot, 0);
    float s[1][8];
    float gradient[1][8];
    Product::scores(s, q, keys, 0);
    Product::scores(gradient, grad_o, Stage::slab(slot, 1), 0);
    const bool whole = sight.is_whole(position, block.arguments.list.indices);
    const unsigned seen = whole ? 0xffu : sight.seen(position, block.arguments.list);
    weigh(s[0], gradient[0], whole, seen, factor, numbers);
    const int first = block.column_part * Kept;
    if (careful && !whole) {
      Product::template accumulate_careful<Kept>(sums[0], gradient[0], seen, keys, first);
    } else {
      Product::template accumulate<Kept>(sums[0], gradient[0], keys, first);
    }
  }
};

template <typename T, int Columns, int Kept>
struct KeysStrip {
  using Stage = cuda::Stage<T, Columns, true>;
  using Product = Products<T, Columns>;
  static constexpr int slots_at_once = 1;

  /// Of the lane's columns, which are queries.
  struct Numbers {
    float its_subtrahend[4];
    float its_dot[4];
    __device__ __forceinline__ explicit Numbers(const float* of_slot) {
      const int t = static_cast<int>(threadIdx.x) & 3;
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const int column = 2 * t + (c & 1) + 8 * (c >> 1);
        its_subtrahend[c] = subtrahend_of(of_slot[column]);
        its_dot[c] = of_slot[slot_tokens + column];
      }
    }
    __device__ __forceinline__ float subtrahend(int e) const {
      return its_subtrahend[(e & 1) + 2 * (e >> 2)];
    }
    __device__ __forceinline__ float dot(int e) const {
      return its_dot[(e & 1) + 2 * (e >> 2)];
    }
  };

  typename Product::Stationary k, v;
  float factor;
  float sums[2][Kept / 8][4];  // grad_k, grad_v

  __device__ KeysStrip(const BackwardArguments& call, const typename Product::Stationary& keys,
                       const typename Product::Stationary& values)
      : k(keys), v(values), factor(call.units.scale * log2_e) {}
  __device__ __forceinline__ void clear() {
    set_zero<Kept>(sums[0]);
    set_zero<Kept>(sums[1]);
  }

  template <int Slots>
  __device__ __forceinline__ void take(const UnitOfBlock& block, const Sight& sight, int position,
                                       std::byte* slot, bool careful) {
    const std::byte* queries = Stage::slab(slot, 0);
    const std::byte* gradients = Stage::slab(slot, 1);
    float s[1][8];
    float gradient[1][8];
    Product::scores(s, k, queries, 0);
    Product::scores(gradient, v, gradients, 0);
    const bool whole = sight.is_whole(position, block.arguments.list.indices);
    const unsigned seen = whole ? 0xffu : sight.seen(position, block.arguments.list);
    weigh(s[0], gradient[0], whole, seen, factor, Numbers(Stage::numbers(slot)));
    const int first = block.column_part * Kept;
    if (careful && !whole) {
      Product::template accumulate_careful<Kept>(sums[1], s[0], seen, gradients, first);
      Product::template accumulate_careful<Kept>(sums[0], gradient[0], seen, queries, first);
    } else {
      Product::template accumulate<Kept>(sums[1], s[0], gradients, first);
      Product::template accumulate<Kept>(sums[0], gradient[0], queries, first);
    }
  }
};

/// Adds up partial rows in the order of parts.
template <typename T, int Kept, int Gradients>
struct BackwardMerger {
  const UnitOfBlock& block;
  const HeadRows<std::byte> (&out)[Gradients];
  const float (&factor)[Gradients];

  __device__ __forceinline__ void operator()(const MergedRows& rows) const {
    const UnitArguments& a = block.arguments;
    const int lane = static_cast<int>(threadIdx.x) & 31;
    const std::int64_t step = static_cast<std::int64_t>(rows.merge.run.count) * a.partial_pitch;
    const int end = min(a.head_dim, (block.column_part + 1) * Kept);
#pragma unroll 1
    for (int row = rows.first; row < rows.last; ++row) {
      const float* parts = partial_row(block, rows.merge.first_slot + row);
      const int token = token_of(rows.merge.run, a.list.indices, row);
#pragma unroll 1
      for (int column = block.column_part * Kept + lane; column < end; column += 32) {
#pragma unroll
        for (int i = 0; i < Gradients; ++i) {
          float total = 0.0f;
#pragma unroll 1
          for (int p = 0; p < rows.merge.parts; ++p)
            total += parts[p * step + i * a.head_dim + column];
          store_column<T>(out[i], Place(a.items, token), column, total * factor[i]);
        }
      }
    }
  }
};

/// Streams a unit past its strip, writes the gradients or leaves them as partial ones.
template <typename T, int Columns, int Kept, int Gradients, typename Strip>
__device__ __forceinline__ void run_unit(const UnitOfBlock& block, const Streamed& streamed,
                                         Strip& strip, std::byte* const (&slabs)[2], int* votes,
                                         const HeadRows<std::byte> (&out)[Gradients],
                                         const float (&factor)[Gradients]) {
  bool careful = false;
#pragma unroll 1
  do {
    strip.clear();
    stream_past(block, streamed, strip, careful);
    bool bad = false;
#pragma unroll
    for (int i = 0; i < Gradients; ++i) bad = bad || has_non_finite<Kept>(strip.sums[i]);
    careful = any_warp(block, votes, block.has_strip && !careful && bad);
  } while (careful);
  const int first = block.column_part * Kept;
  if (block.has_strip) {
    const WorkPart part = block.part();
#pragma unroll
    for (int i = 0; i < Gradients; ++i) {
      if (part.merge >= 0) {
        leave_partial<Kept>(block, strip.sums[i], first, i * block.arguments.head_dim);
      } else {
        const float factors[2] = {factor[i], factor[i]};
        store_rows<T, Columns, Kept>(block, slabs[i], out[i], strip.sums[i], factors, first);
      }
    }
  }
  arrive(block, Columns / Kept, votes, BackwardMerger<T, Kept, Gradients>{block, out, factor});
}

template <typename T, int Columns>
inline constexpr int kept_columns = gradient_columns(Columns, sizeof(T));

template <typename T, int Columns>
inline constexpr int backward_registers = Columns > 64                               ? 255
                                          : Columns > 32 || std::is_same_v<T, float> ? 168
                                                                                     : 128;

template <typename T, int Columns>
__global__ void __maxnreg__((backward_registers<T, Columns>))
    segment_backward_kernel(BackwardArguments call) {
  constexpr int kept = kept_columns<T, Columns>;
  const UnitOfBlock block(call.units, Columns / kept);
  std::byte* const slabs[2] = {slab_of_warp<T, Columns, true>(block.warp(), block.warps(), 0),
                               slab_of_warp<T, Columns, true>(block.warp(), block.warps(), 1)};
  int* votes = votes_of_block();
  const HeadRows<const std::byte> q(call.q, block.head);
  const HeadRows<const std::byte> k(call.k, block.head);
  const HeadRows<const std::byte> v(call.v, block.head);
  const HeadRows<const std::byte> grad_o(call.grad_o, block.head);
  if (block.unit().kind == UnitKind::rows) {
    fill_slab<T, Columns>(block, slabs[0], q);
    fill_slab<T, Columns>(block, slabs[1], grad_o);
    RowsStrip<T, Columns, kept> strip(block, call, {slabs[0], q, block.run(), call.units},
                                      {slabs[1], grad_o, block.run(), call.units});
    const HeadRows<std::byte> out[1] = {{call.grad_q, block.head}};
    const float factor[1] = {call.units.scale};
    run_unit<T, Columns, kept, 1>(block, {{k, v}}, strip, slabs, votes, out, factor);
  } else {
    fill_slab<T, Columns>(block, slabs[0], k);
    fill_slab<T, Columns>(block, slabs[1], v);
    KeysStrip<T, Columns, kept> strip(call, {slabs[0], k, block.run(), call.units},
                                      {slabs[1], v, block.run(), call.units});
    const HeadRows<std::byte> out[2] = {{call.grad_k, block.head}, {call.grad_v, block.head}};
    const float factor[2] = {call.units.scale, 1.0f};
    run_unit<T, Columns, kept, 2>(block,
                                  {{q, grad_o}, call.lse + block.head, call.dots + block.head},
                                  strip, slabs, votes, out, factor);
  }
}

}  // namespace attnscope::cuda
