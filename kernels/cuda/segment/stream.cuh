#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How a block's streamed tokens pass by: in slots of 16 tokens of two tensors, several slots a
// stage, two stages in turn, the next one on its way (cp.async) while the present one is used. All
// warps fill; each warp takes the slots that its strip sees.
//
// Shared memory: a word a warp for votes | stage 0 | stage 1 | the strips' slabs.

#include "kernels/cuda/segment/products.cuh"
#include "kernels/cuda/segment/sight.cuh"

namespace attnscope::cuda {

/// `RowNumbers`: whether each streamed token brings two floats along (log-sum-exp and D of a
/// query).
template <typename T, int Columns, bool RowNumbers>
struct Stage {
  using Rows = Slab<T, Columns>;
  // About 16 kB a stage, which leaves an SM of an A100 (164 kB) five blocks.
  static constexpr int slots = Rows::bytes > 8192
                                   ? 1
                                   : (8192 / Rows::bytes > 8 ? 8 : 8192 / Rows::bytes);
  static constexpr int number_bytes = RowNumbers ? 2 * slot_tokens * 4 : 0;
  static constexpr int slot_bytes = 2 * Rows::bytes + number_bytes;
  static constexpr int bytes = slots * slot_bytes;

  static __device__ __forceinline__ std::byte* slab(std::byte* slot, int which) {
    return slot + which * Rows::bytes;
  }
  /// 16 log-sum-exps, then 16 D.
  static __device__ __forceinline__ float* numbers(std::byte* slot) {
    return reinterpret_cast<float*>(slot + 2 * Rows::bytes);
  }
};

// Votes of the warps, and the block's arrival; slabs behind them stay aligned to 128 bytes.
inline constexpr int vote_bytes = 128;

template <typename T, int Columns, bool RowNumbers>
constexpr std::int64_t shared_bytes(int warps, int stationary_tensors) {
  const int slabs = Products<T, Columns>::in_slab ? stationary_tensors * warps : 0;
  return vote_bytes + 2 * Stage<T, Columns, RowNumbers>::bytes + slabs * Slab<T, Columns>::bytes;
}

/// A block's unit, and the warp's strip in it.
struct UnitOfBlock {
  const UnitArguments& arguments;
  WorkUnit unit;
  WorkStrip strip;  // of this warp; strip.run.count 0: none
  int head, column_part;
  int warp, warps;
  bool is_main;

  __device__ UnitOfBlock(const UnitArguments& call, int column_parts) : arguments(call) {
    const int block = static_cast<int>(blockIdx.x);
    const int of_unit = block % (call.heads_per_unit * column_parts);
    unit = call.list.units[call.first_unit + block / (call.heads_per_unit * column_parts)];
    column_part = of_unit % column_parts;
    head = unit.first_head + of_unit / column_parts;
    warp = static_cast<int>(threadIdx.x) >> 5;
    warps = static_cast<int>(blockDim.x) >> 5;
    is_main = warp < call.main_warps;
    if (is_main) {
      const int first = strip_tokens * warp;
      strip.run = {unit.run.begin + first, max(0, min(strip_tokens, unit.run.count - first)),
                   unit.run.listed};
      strip.first_rule = unit.first_rule;
      strip.part = {unit.part.merge, unit.part.first_slot + first};
    } else if (warp - call.main_warps < unit.extras) {
      strip = call.list.strips[unit.first_extra + warp - call.main_warps];
    }
  }
  [[nodiscard]] __device__ bool has_strip() const { return strip.run.count > 0; }
};

/// Walks the spans of a unit as slots go by.
struct SpanCursor {
  int number = -1;     // of the unit's spans
  int first_slot = 0;  // of the unit's slots
  int last_slot = 0;   // exclusive
  WorkSpan span;

  /// To the span that holds `slot`; true if it was another one.
  __device__ __forceinline__ bool advance(const UnitOfBlock& block, int slot) {
    if (slot < last_slot) return false;
    while (slot >= last_slot) {
      ++number;
      span = block.arguments.list.spans[block.unit.first_span + number];
      first_slot = last_slot;
      last_slot += (span.run.count + slot_tokens - 1) / slot_tokens;
    }
    return true;
  }
};

/// What streams: the rows of two tensors, and with keys units two numbers a token.
struct Streamed {
  HeadRows<const std::byte> rows[2];
  const float* lse = nullptr;   // [tokens, heads], of the block's head; null: none
  const float* dots = nullptr;  // alike
};

template <typename Stage>
__device__ __forceinline__ void fill_stage(const UnitOfBlock& block, const Streamed& streamed,
                                           SpanCursor& cursor, std::byte* stage, int first_slot) {
  using Rows = typename Stage::Rows;
  const int slots = min(Stage::slots, block.unit.slots - first_slot);
  const int lane = static_cast<int>(threadIdx.x) & 31;
#pragma unroll 1
  for (int i = block.warp; i < slots * Rows::fills; i += block.warps) {
    const int slot = i / Rows::fills;
    const int part = i % Rows::fills;
    cursor.advance(block, first_slot + slot);
    const int position = (first_slot + slot - cursor.first_slot) * slot_tokens;
    const int count = min(slot_tokens, cursor.span.run.count - position);
    std::byte* memory = stage + slot * Stage::slot_bytes;
    Rows::template fill<2>(memory, streamed.rows, {0, Rows::bytes}, cursor.span.run, position,
                           count, part * Rows::filled_rows, block.arguments);
    if (Stage::number_bytes > 0 && streamed.lse != nullptr && part == 0) {
      const int row = lane & 15;
      const bool valid = row < count;
      const float* from = lane < 16 ? streamed.lse : streamed.dots;
      const std::int64_t token =
          valid ? token_of(cursor.span.run, block.arguments.list.indices, position + row) : 0;
      copy_async<4>(Stage::numbers(memory) + lane, from + token * block.arguments.heads, valid);
    }
  }
}

/// The stage's slots that the warp's strip sees, two at a time where the program takes two.
template <typename Program>
__device__ __forceinline__ void take_stage(const UnitOfBlock& block, Program& program,
                                           SpanCursor& cursor, Sight& sight, std::byte* stage,
                                           int first_slot, bool careful) {
  using Stage = typename Program::Stage;
  const DeviceList& list = block.arguments.list;
  const int end = min(first_slot + Stage::slots, block.unit.slots);
  int slot = first_slot;
#pragma unroll 1
  while (slot < end) {
    if (cursor.advance(block, slot)) {
      sight.look(cursor.span, list.rules[block.strip.first_rule + cursor.number], block.strip.run,
                 list.indices);
    }
    const int stop = min(end, cursor.last_slot);
    slot = max(slot, cursor.first_slot + sight.first_slot);
    const int last = min(stop, cursor.first_slot + sight.last_slot);
    const auto memory = [&](int of) { return stage + (of - first_slot) * Stage::slot_bytes; };
    const auto position = [&](int of) { return (of - cursor.first_slot) * slot_tokens; };
    if constexpr (Program::slots_at_once == 2) {
#pragma unroll 1
      for (; slot + 2 <= last; slot += 2) {
        program.template take<2>(block, sight, position(slot), memory(slot), careful);
      }
    }
#pragma unroll 1
    for (; slot < last; ++slot) {
      program.template take<1>(block, sight, position(slot), memory(slot), careful);
    }
    slot = stop;
  }
}

/// Streams all slots of the unit past the program, whose slabs are filled with the first stage.
template <typename Program>
__device__ __forceinline__ void stream_past(const UnitOfBlock& block, const Streamed& streamed,
                                            Program& program, bool careful) {
  using Stage = typename Program::Stage;
  std::byte* stages = dynamic_shared() + vote_bytes;
  SpanCursor filling;
  SpanCursor taking;
  Sight sight;
  const int slots = block.unit.slots;
  fill_stage<Stage>(block, streamed, filling, stages, 0);
  commit_copies();
  if (slots == 0) {
    wait_for_copies<0>();
    __syncthreads();
  }
  int turn = 0;
#pragma unroll 1
  for (int first = 0; first < slots; first += Stage::slots) {
    if (first + Stage::slots < slots) {
      fill_stage<Stage>(block, streamed, filling, stages + (turn ^ 1) * Stage::bytes,
                        first + Stage::slots);
    }
    commit_copies();
    wait_for_copies<1>();
    __syncthreads();
    if (block.has_strip()) {
      if (first == 0) program.prepare();
      take_stage(block, program, taking, sight, stages + turn * Stage::bytes, first, careful);
    }
    // The stage is filled anew while the next one is used.
    if (first + 2 * Stage::slots < slots) __syncthreads();
    turn ^= 1;
  }
}

/// Whether the warp has a vote; to be called by all warps of the block.
__device__ __forceinline__ bool any_warp(const UnitOfBlock& block, int* votes, bool vote) {
  const bool of_warp = __any_sync(all_lanes, vote ? 1 : 0) != 0;
  if ((threadIdx.x & 31u) == 0) votes[block.warp] = of_warp ? 1 : 0;
  __syncthreads();
  bool any = false;
  for (int w = 0; w < block.warps; ++w) any = any || votes[w] != 0;
  return any;
}

}  // namespace attnscope::cuda
